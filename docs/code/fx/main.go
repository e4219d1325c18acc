// Command fx is the code of docs/fx.md.
package main

import (
	"context"
	"sync"

	"go.uber.org/fx"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/mcpfx"
)

// Database is a dependency of the tools. The fx graph constructs and closes it.
type Database struct {
	mu    sync.Mutex
	notes []string
}

// OpenDatabase opens the database and closes it when the program stops.
func OpenDatabase(lifecycle fx.Lifecycle) *Database {
	db := &Database{}
	lifecycle.Append(fx.StopHook(func() {
		db.mu.Lock() // a handler that ignores the end of its context may still run
		defer db.mu.Unlock()
		db.notes = nil
	}))
	return db
}

// Notes is a provider: its components become part of the server.
type Notes struct{ db *Database }

// NewNotes gets its dependencies from the fx graph.
func NewNotes(db *Database) *Notes { return &Notes{db} }

// Components returns the tools of the provider.
func (n *Notes) Components() []framework.Component {
	return []framework.Component{
		framework.Tool("add_note", n.Add, framework.Describe("Save a note.")),
	}
}

// AddIn is the input of the tool add_note.
type AddIn struct {
	Text string `json:"text" doc:"what to remember" validate:"min=1"`
}

// AddOut is the result of the tool add_note: the number of notes.
type AddOut struct {
	Notes int `json:"notes"`
}

// Add stores a note.
func (n *Notes) Add(_ context.Context, in AddIn) (AddOut, error) {
	n.db.mu.Lock()
	defer n.db.mu.Unlock()
	n.db.notes = append(n.db.notes, in.Text)
	return AddOut{len(n.db.notes)}, nil
}

// program returns the fx graph. Tests start it with another transport.
func program(transports ...mcpfx.Option) fx.Option {
	return fx.Options(
		mcpfx.Module("notes", "1.0.0", transports...),
		mcpfx.Provide(NewNotes),
		fx.Provide(OpenDatabase),
	)
}

func main() { fx.New(program(mcpfx.Stdio())).Run() }
