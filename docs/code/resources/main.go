// Command resources is the code of docs/resources.md.
package main

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
)

// Notes are texts by name. Handlers run concurrently, so mu guards the texts.
type Notes struct {
	mu    sync.RWMutex
	texts map[string]string
	one   *framework.TemplateOf[NoteRef, Note] // notes://{name}
}

// Note is one note.
type Note struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// NoteRef has the variables of notes://{name}.
type NoteRef struct {
	Name string `uri:"name" doc:"name of the note"`
}

// Read returns one resource of a template.
func (n *Notes) Read(_ context.Context, ref NoteRef) (Note, error) {
	n.mu.RLock()
	text, ok := n.texts[ref.Name]
	n.mu.RUnlock()
	if !ok {
		return Note{}, framework.NotFoundf("no note %q", ref.Name)
	}
	return Note{Name: ref.Name, Text: text}, nil
}

// Index is a fixed resource.
func (n *Notes) Index(context.Context) (string, error) {
	return strings.Join(n.names(), "\n"), nil
}

func (n *Notes) names() []string {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return slices.Sorted(maps.Keys(n.texts))
}

// completeName returns the names that begin with what the user has typed.
func (n *Notes) completeName(_ context.Context, prefix string, _ map[string]string) ([]string, error) {
	return slices.DeleteFunc(n.names(), func(name string) bool { return !strings.HasPrefix(name, prefix) }), nil
}

// WriteIn is the input of the tool write.
type WriteIn struct {
	Name string `json:"name" doc:"name of the note" validate:"min=1"`
	Text string `json:"text" doc:"text of the note"`
}

// Write changes a note and notifies its subscribers.
func (n *Notes) Write(ctx context.Context, in WriteIn) (struct{}, error) {
	n.mu.Lock()
	n.texts[in.Name] = in.Text
	n.mu.Unlock()
	framework.ServerFrom(ctx).ResourceUpdated(ctx, n.one.URI(NoteRef{Name: in.Name}))
	return struct{}{}, nil
}

// mayWatch allows only the owner to subscribe to a diary, such as notes://diary-alice. In a real
// server, Read, Index and Write must also check the owner.
func mayWatch(ctx context.Context, uri string) error {
	owner, ok := strings.CutPrefix(uri, "notes://diary-")
	if who := framework.Caller(ctx).Principal; ok && (who == nil || who.Subject != owner) {
		return framework.NotFoundf("no such note")
	}
	return nil
}

// NewApp returns the app.
func NewApp() *framework.App {
	n := &Notes{texts: map[string]string{"milk": "buy milk", "moon": "look at the moon"}}
	n.one = framework.ResourceTemplate("notes://{name}", n.Read,
		framework.Describe("One note."), framework.Complete("name", n.completeName), framework.MaySubscribe(mayWatch))
	return framework.New("notes", "1.0.0").Add(
		framework.Resource("notes://index", n.Index,
			framework.Describe("The names of all notes."), framework.MIME("text/plain")),
		n.one,
		framework.Tool("write", n.Write, framework.Describe("Write a note.")),
	)
}

func main() { serve.Main(NewApp()) }
