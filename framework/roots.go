package framework

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/kagami-mcp/kagami/protocol"
)

// Roots returns the client's roots. The error is ErrUnsupported if the client does not
// offer any, ErrPending if the handler will run again with the answer.
//
// A session whose client announces changes of its roots is asked only once until it
// announces one; on 2026-07-28 each call asks once.
func Roots(ctx context.Context) ([]protocol.Root, error) {
	h, err := asking(ctx, askingRoots)
	if err != nil {
		return nil, err
	}
	if h.muted() {
		return nil, mutedError(askingRoots)
	}
	h.top().asks.Store(true) // set also if the roots of the session are known already
	if h.call.Replays() {
		return h.top().rootsOfCall(ctx)
	}
	return h.rootsOfSession(ctx)
}

const askingRoots = "asking for roots"

// keyRoots is the key of the question, which is asked once in a call, wherever the handler
// asks.
const keyRoots = "roots"

// callRoots is the answer of one execution of a call.
type callRoots struct {
	once  sync.Once
	roots []protocol.Root
	err   error
}

func (h *handling) rootsOfCall(ctx context.Context) ([]protocol.Root, error) {
	h.roots.CompareAndSwap(nil, &callRoots{})
	r := h.roots.Load()
	r.once.Do(func() { r.roots, r.err = h.askRoots(ctx) })
	return slices.Clone(r.roots), r.err
}

func (h *handling) rootsOfSession(ctx context.Context) ([]protocol.Root, error) {
	session := h.call.Session()
	if !h.call.Capabilities().RootsListChanged || session == "" {
		return h.askRoots(ctx)
	}
	known, ticket := h.server.roots.of(session)
	if known != nil {
		return slices.Clone(known), nil
	}
	roots, err := h.askRoots(ctx)
	if err == nil {
		h.server.roots.keep(session, ticket, roots)
	}
	return roots, err
}

func (h *handling) askRoots(ctx context.Context) ([]protocol.Root, error) {
	var roots []protocol.Root
	err := h.settle(ctx, &rootsInquiry{h: h, roots: &roots})[0]
	return roots, err
}

// AskRoots makes a question for Gather, as Roots would ask it, but always asks: what a
// session has said before does not count.
func AskRoots() Question[[]protocol.Root] {
	return Question[[]protocol.Root]{func(h *handling, into *[]protocol.Root) (inquiry, error) {
		return &rootsInquiry{h: h, roots: into}, nil
	}}
}

// rootsInquiry asks the client for its roots.
type rootsInquiry struct {
	h     *handling
	roots *[]protocol.Root
}

func (*rootsInquiry) key() string { return keyRoots }

func (*rootsInquiry) answerer() Model { return nil }

func (q *rootsInquiry) needs() need {
	return need{askingRoots, &protocol.ClientCapabilities{Roots: true}, q.h.call.Capabilities().Roots}
}

func (*rootsInquiry) params(string) (protocol.Params, error) { return &protocol.ListRootsParams{}, nil }

func (q *rootsInquiry) take(_ context.Context, _ string, r protocol.Result) (bool, error) {
	listed, ok := r.(*protocol.ListRootsResult)
	if !ok {
		return true, &askError{doing: askingRoots, cause: fmt.Errorf("the client answered with a %T", r)}
	}
	*q.roots = append([]protocol.Root{}, listed.Roots...)
	return true, nil
}

// maxRootSessions bounds the sessions whose roots are remembered. The oldest are forgotten and
// asked again; that is also how sessions that have ended disappear.
const maxRootSessions = 4096

// sessionRoots are the roots that sessions have reported. The zero value is ready for use.
type sessionRoots struct {
	mu    sync.Mutex // guards all below
	known map[string]*rootsEntry
	order []string // the keys of known, oldest first
}

// rootsEntry has no roots while its session is being asked. It is replaced when the roots
// change, so that the answer to an earlier question is dropped.
type rootsEntry struct{ roots []protocol.Root }

// of is what a session has reported, or the entry to put its answer into.
func (s *sessionRoots) of(session string) ([]protocol.Root, *rootsEntry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.known[session]
	if e == nil {
		e = &rootsEntry{}
		s.put(session, e)
	}
	return e.roots, e
}

// put stores an entry. Called with s.mu held.
func (s *sessionRoots) put(session string, e *rootsEntry) {
	if s.known == nil {
		s.known = make(map[string]*rootsEntry)
	}
	if len(s.order) >= maxRootSessions {
		delete(s.known, s.order[0])
		s.order = s.order[1:]
	}
	s.known[session] = e
	s.order = append(s.order, session)
}

func (s *sessionRoots) keep(session string, ticket *rootsEntry, roots []protocol.Root) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[session] == ticket {
		ticket.roots = slices.Clone(roots)
	}
}

// forget drops what a session has reported.
func (s *sessionRoots) forget(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.known[session]; ok {
		s.known[session] = &rootsEntry{}
	}
}
