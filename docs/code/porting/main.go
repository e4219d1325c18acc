// Command porting is the code of docs/porting.md: a server of notes, as it is written
// here. What it was in the official Go SDK and in mcp-go is in testkit/interop/ported.
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

// Notes are texts by name. They are not guarded: this is a page of a guide.
type Notes map[string]string

// SearchIn is the schema, and what the model fills in.
type SearchIn struct {
	Query string `json:"query" doc:"words to look for"`
	Limit int    `json:"limit" doc:"how many notes at most" default:"10" validate:"min=1,max=100"`
}

// SearchOut is the structured result, and its schema.
type SearchOut struct {
	Names []string `json:"names"`
}

// Search gets checked arguments.
func (n Notes) Search(_ context.Context, in SearchIn) (SearchOut, error) {
	return SearchOut{Names: n.find(in.Query, in.Limit)}, nil
}

// NameIn names a note.
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

// Index tells how far it is, to clients that want to know.
func (n Notes) Index(ctx context.Context, _ struct{}) (framework.Content, error) {
	var all framework.Content
	for _, name := range framework.Track(ctx, slices.Sorted(maps.Keys(n)), "indexing") {
		all = append(all, framework.Text(name), framework.Link{URI: "notes://" + name, Name: name})
	}
	framework.Notify(ctx, protocol.LevelInfo, fmt.Sprintf("%d notes indexed", len(n)))
	return all, nil
}

const rawSchema = `{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}`

// Forward has a schema that no Go type has.
func Forward(_ context.Context, arguments json.RawMessage) (string, error) {
	return string(arguments), nil
}

// NoteRef holds the variables of notes://{name}.
type NoteRef struct {
	Name string `uri:"name"`
}

// Read reads one of a family of resources.
func (n Notes) Read(_ context.Context, ref NoteRef) (string, error) {
	text, ok := n[ref.Name]
	if !ok {
		return "", framework.NotFoundf("no note %q", ref.Name)
	}
	return text, nil
}

// Complete offers names as the user types.
func (n Notes) Complete(_ context.Context, prefix string, _ map[string]string) ([]string, error) {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(n)), func(s string) bool { return !strings.HasPrefix(s, prefix) }), nil
}

// ReviewArgs are the arguments of the prompt.
type ReviewArgs struct {
	Name string `json:"name" doc:"name of the note"`
}

// Review makes the messages.
func (n Notes) Review(_ context.Context, args ReviewArgs) (framework.Messages, error) {
	return framework.Messages{framework.User("Review this note: " + n[args.Name])}, nil
}

// timed is a step around every call.
func timed(observe func(call string, took time.Duration)) framework.Middleware {
	return framework.Middleware{Name: "timed", Phase: framework.PhaseTrace, Wrap: func(next framework.Handler) framework.Handler {
		return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
			begun := time.Now()
			defer func() { observe(call.Method+" "+call.Name, time.Since(begun)) }()
			return next(ctx, call)
		}
	}}
}

// NewApp is the whole server.
func NewApp(n Notes, observe func(string, time.Duration)) *framework.App {
	return framework.New("notes", "1.0.0").Use(timed(observe)).Add(
		framework.Tool("search", n.Search, framework.Describe("Find notes."), framework.ReadOnly()),
		framework.Tool("remove", n.Remove, framework.Describe("Remove a note."), framework.Destructive(true)),
		framework.Tool("index", n.Index, framework.Describe("List the notes."), framework.ReadOnly()),
		framework.Tool("forward", Forward, framework.Describe("Hand on."), framework.InputSchema(rawSchema)),
		framework.ResourceTemplate("notes://{name}", n.Read,
			framework.Describe("A note."), framework.MIME("text/plain"), framework.Complete("name", n.Complete)),
		framework.Prompt("review", n.Review, framework.Describe("Review a note.")),
	)
}

func main() {
	serve.Main(NewApp(Notes{"milk": "Buy milk.", "moon": "Fly to the moon."}, func(string, time.Duration) {}))
}

// find is what all three servers share.
func (n Notes) find(query string, limit int) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(n)) {
		if strings.Contains(n[name], query) && len(names) < limit {
			names = append(names, name)
		}
	}
	return names
}
