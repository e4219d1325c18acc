package main

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/middleware"
	"github.com/kagami-mcp/kagami/middleware/auth"
	"github.com/kagami-mcp/kagami/transport"
)

// Scopes that tokens may have.
const (
	readNotes  = "notes:read"
	writeNotes = "notes:write"
)

// newGuard accepts tokens that the issuer has issued for resource.
func newGuard(issuer, resource string) transport.Authenticator {
	return auth.Bearer(&auth.JWT{Issuer: issuer},
		auth.Resource(resource),
		auth.Supported(readNotes, writeNotes),
		auth.Implies(writeNotes, readNotes), // a token that may write may also read
	)
}

// newApp returns the whole server: three tools, and the middleware in front of them.
func newApp(guard transport.Authenticator, audit io.Writer, counts *counters) *framework.App {
	n := &notes{byUser: make(map[user][]string)}
	return framework.New("secured", "1.0.0",
		framework.WithAuth(guard),
		framework.WithInstructions("Keeps notes, for each user their own."),
	).Use(
		middleware.Audit(audit), // in production a file opened with os.O_APPEND
		counts.step(),
		middleware.RateLimit(middleware.Rate{Events: 30, Per: time.Minute}),
		middleware.Timeout(10*time.Second),
		middleware.MaxResult(64<<10),
	).Add(
		framework.Tool("whoami", whoami,
			framework.Describe("Say who calls, and what they may do."), framework.ReadOnly()),
		framework.Tool("list_notes", n.list,
			framework.Describe("List the caller's notes."), framework.ReadOnly(), framework.Scopes(readNotes)),
		framework.Tool("add_note", n.add,
			framework.Describe("Write a note down."), framework.Destructive(false), framework.Scopes(writeNotes)),
	)
}

// Identity is the identity of a caller.
type Identity struct {
	Subject string   `json:"subject"`
	Issuer  string   `json:"issuer"`
	Scopes  []string `json:"scopes"`
}

func whoami(ctx context.Context, _ struct{}) (Identity, error) {
	p := framework.Caller(ctx).Principal
	if p == nil { // for example on stdio, which has no guard
		return Identity{}, framework.UserErrorf("You are not logged in.")
	}
	return Identity{p.Subject, p.Issuer, p.Scopes}, nil
}

// user identifies a user. A subject is unique only for one issuer.
type user struct{ issuer, subject string }

func userOf(ctx context.Context) user {
	p := framework.Caller(ctx).Principal
	return user{p.Issuer, p.Subject}
}

const maxNotes = 100

// notes stores notes in memory, separately for each user.
type notes struct {
	mu     sync.Mutex // guards the fields below
	byUser map[user][]string
}

func (n *notes) list(ctx context.Context, _ struct{}) ([]string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string{}, n.byUser[userOf(ctx)]...), nil
}

// NoteIn is the input of the tool add_note.
type NoteIn struct {
	Text string `json:"text" doc:"the note" validate:"min=1,max=500"`
}

func (n *notes) add(ctx context.Context, in NoteIn) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	who := userOf(ctx)
	if len(n.byUser[who]) == maxNotes {
		return "", framework.UserErrorf("There are %d notes already, and no more are allowed.", maxNotes)
	}
	n.byUser[who] = append(n.byUser[who], in.Text)
	return "Noted.", nil
}
