// Command resources is the code of docs/resources.md.
package main

import (
	"context"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
)

var notes = map[string]string{"milk": "buy milk", "moon": "look at the moon"}

// Note is one note.
type Note struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// NoteRef holds the variables of notes://{name}.
type NoteRef struct {
	Name string `uri:"name" doc:"name of the note"`
}

// ReadNote reads one of a family of resources.
func ReadNote(_ context.Context, ref NoteRef) (Note, error) {
	text, ok := notes[ref.Name]
	if !ok {
		return Note{}, framework.NotFoundf("no note %q", ref.Name)
	}
	return Note{Name: ref.Name, Text: text}, nil
}

// Index is a fixed resource.
func Index(context.Context) (string, error) {
	return strings.Join(noteNames(), "\n"), nil
}

func noteNames() []string {
	names := make([]string, 0, len(notes))
	for name := range notes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// completeName offers the names that begin with what was typed.
func completeName(_ context.Context, prefix string, _ map[string]string) ([]string, error) {
	return slices.DeleteFunc(noteNames(), func(n string) bool { return !strings.HasPrefix(n, prefix) }), nil
}

// WriteIn is a note.
type WriteIn struct {
	Name string `json:"name" doc:"name of the note" validate:"min=1"`
	Text string `json:"text" doc:"what it says"`
}

// Write changes a note and tells whoever subscribed to it.
func Write(ctx context.Context, in WriteIn) (struct{}, error) {
	notes[in.Name] = in.Text
	framework.ServerFrom(ctx).ResourceUpdated(ctx, "notes://"+in.Name)
	return struct{}{}, nil
}

// mayWatch lets only the owner watch a diary, such as notes://diary-alice.
func mayWatch(ctx context.Context, uri string) error {
	owner, ok := strings.CutPrefix(uri, "notes://diary-")
	if who := framework.Caller(ctx).Principal; ok && (who == nil || who.Subject != owner) {
		return framework.NotFoundf("no such note")
	}
	return nil
}

// NewApp registers everything.
func NewApp() *framework.App {
	return framework.New("notes", "1.0.0").Add(
		framework.Resource("notes://index", Index,
			framework.Describe("The names of all notes."), framework.MIME("text/plain")),
		framework.ResourceTemplate("notes://{name}", ReadNote,
			framework.Describe("One note."), framework.Complete("name", completeName), framework.MaySubscribe(mayWatch)),
		framework.Tool("write", Write, framework.Describe("Write a note.")),
	)
}

func main() { serve.Main(NewApp()) }
