// Command porting is the code of docs/porting.md: a server of notes, written with Kagami. Its
// versions for the official Go SDK and mcp-go are in testkit/interop/ported.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
	"github.com/kagami-mcp/kagami/protocol"
)

// Notes are texts by name. They have no lock, because this is only a page of a guide.
type Notes map[string]string

// SearchIn is the input of the tool search, and defines its schema.
type SearchIn struct {
	Query string `json:"query" doc:"words to look for"`
	Limit int    `json:"limit" doc:"how many notes at most" default:"10" validate:"min=1,max=100"`
}

// SearchOut is the structured result of the tool search, and defines its schema.
type SearchOut struct {
	Names []string `json:"names"`
}

// Search receives arguments that Kagami has validated.
func (n Notes) Search(_ context.Context, in SearchIn) (SearchOut, error) {
	return SearchOut{Names: n.find(in.Query, in.Limit)}, nil
}

// NameIn is the input of the tool remove.
type NameIn struct {
	Name string `json:"name" doc:"name of the note"`
}

// Remove asks the user first. On 2026-07-28 it runs once more with the answer.
func (n Notes) Remove(ctx context.Context, in NameIn) (string, error) {
	if _, ok := n[in.Name]; !ok {
		return "", framework.UserErrorf("there is no note %q", in.Name)
	}
	sure, err := framework.Elicit[bool](ctx, "Remove "+in.Name+"?")
	if errors.Is(err, framework.ErrDeclined) || err == nil && !sure {
		return "Kept.", nil
	}
	if err != nil {
		return "", err
	}
	delete(n, in.Name)
	return "Removed.", nil
}

// Index reports progress to clients that ask for it.
func (n Notes) Index(ctx context.Context, _ struct{}) (framework.Content, error) {
	var all framework.Content
	for _, name := range framework.Track(ctx, slices.Sorted(maps.Keys(n)), "indexing") {
		all = append(all, framework.Text(name), framework.Link{URI: "notes://" + name, Name: name})
	}
	framework.Notify(ctx, protocol.LevelInfo, fmt.Sprintf("%d notes indexed", len(all)))
	return all, ctx.Err() // the loop ends early if the call is cancelled
}

const rawSchema = `{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}`

// Forward has a schema that no Go type can express.
func Forward(_ context.Context, arguments json.RawMessage) (string, error) {
	return string(arguments), nil
}

// NoteRef has the variables of notes://{name}.
type NoteRef struct {
	Name string `uri:"name"`
}

// Read returns one resource of a template.
func (n Notes) Read(_ context.Context, ref NoteRef) (string, error) {
	text, ok := n[ref.Name]
	if !ok {
		return "", framework.NotFoundf("no note %q", ref.Name)
	}
	return text, nil
}

// Complete returns names that complete what the user types.
func (n Notes) Complete(_ context.Context, prefix string, _ map[string]string) ([]string, error) {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(n)), func(s string) bool { return !strings.HasPrefix(s, prefix) }), nil
}

// ReviewArgs are the arguments of the prompt.
type ReviewArgs struct {
	Name string `json:"name" doc:"name of the note"`
}

// Review returns the messages of the prompt.
func (n Notes) Review(_ context.Context, args ReviewArgs) (framework.Messages, error) {
	return framework.Messages{framework.User("Review this note: " + n[args.Name])}, nil
}

// timed is a middleware that measures every call.
func timed(observe func(call string, took time.Duration)) framework.Middleware {
	return framework.Middleware{Name: "timed", Phase: framework.PhaseTrace, Wrap: func(next framework.Handler) framework.Handler {
		return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
			begun := time.Now()
			defer func() { observe(call.Method+" "+call.Name, time.Since(begun)) }()
			return next(ctx, call)
		}
	}}
}

// NewApp returns the app.
func NewApp(n Notes, observe func(string, time.Duration)) *framework.App {
	return framework.New("notes", "1.0.0").Use(timed(observe)).Add(
		framework.Tool("search", n.Search, framework.Describe("Find notes."), framework.ReadOnly()),
		framework.Tool("remove", n.Remove, framework.Describe("Remove a note."), framework.Destructive(true)),
		framework.Tool("index", n.Index, framework.Describe("List the notes."), framework.ReadOnly()),
		framework.Tool("forward", Forward, framework.Describe("Forward the arguments."), framework.InputSchema(rawSchema)),
		framework.ResourceTemplate("notes://{name}", n.Read,
			framework.Describe("A note."), framework.MIME("text/plain"), framework.Complete("name", n.Complete)),
		framework.Prompt("review", n.Review, framework.Describe("Review a note.")),
	)
}

func main() {
	serve.Main(NewApp(Notes{"milk": "Buy milk.", "moon": "Fly to the moon."}, func(string, time.Duration) {}))
}

// find is common to all three versions of the server.
func (n Notes) find(query string, limit int) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(n)) {
		if strings.Contains(n[name], query) && len(names) < limit {
			names = append(names, name)
		}
	}
	return names
}
