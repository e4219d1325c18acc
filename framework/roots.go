package framework

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/kagami-mcp/kagami/protocol"
)

// Roots returns the client's roots. It returns ErrUnsupported if the client does not offer any, and
// ErrPending if the handler will run again with the answer.
//
// If the client of a session announces changes of its roots, it is asked once, and again after each
// announcement; for roots of more than 16 KiB it is asked each time. On 2026-07-28 each call asks
// once.
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

// keyRoots is the key of the question. A call asks it once, even if several parts of the call need
// the roots.
const keyRoots = "roots"

// callRoots returns the answer for one execution of a call. Its first call asks the client.
type callRoots = func() ([]protocol.Root, error)

func (h *callCtx) rootsOfCall(ctx context.Context) ([]protocol.Root, error) {
	h.roots.CompareAndSwap(nil, new(sync.OnceValues(func() ([]protocol.Root, error) { return h.askRoots(ctx) })))
	roots, err := (*h.roots.Load())()
	return slices.Clone(roots), err
}

func (h *callCtx) rootsOfSession(ctx context.Context) ([]protocol.Root, error) {
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

func (h *callCtx) askRoots(ctx context.Context) ([]protocol.Root, error) {
	var roots []protocol.Root
	err := h.settle(ctx, &rootsInquiry{h: h, roots: &roots})[0]
	return roots, err
}

// AskRoots returns a question for Gather that asks for the client's roots. Unlike Roots, it always
// asks, even if the roots of the session are known.
func AskRoots() Question[[]protocol.Root] {
	return Question[[]protocol.Root]{func(h *callCtx, into *[]protocol.Root) (pendingQuestion, error) {
		return &rootsInquiry{h: h, roots: into}, nil
	}}
}

// rootsInquiry asks the client for its roots.
type rootsInquiry struct {
	h     *callCtx
	roots *[]protocol.Root
}

func (*rootsInquiry) key() string { return keyRoots }

func (*rootsInquiry) answerer() Model { return nil }

func (q *rootsInquiry) needs() requirement {
	return requirement{askingRoots, &protocol.ClientCapabilities{Roots: true}, q.h.call.Capabilities().Roots}
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

// maxRootSessions limits how many sessions' roots are kept. The oldest are evicted and asked again.
// Sessions that have ended are also removed in this way.
const maxRootSessions = 4096

// sessionRoots caches the roots that sessions have reported. The zero value is ready for use.
//
// A session without an entry gets an empty one from of, which the caller uses as a ticket while it
// asks the client. keep stores the answer if the entry is still the session's. forget replaces the
// entry when the client announces a change, so the answer to an earlier question is dropped. All of
// this happens under mu.
type sessionRoots struct {
	mu    sync.Mutex // guards all below
	known map[string]*rootsEntry
	order []string // the keys of known, oldest first
}

// rootsEntry holds the roots of a session; nil until keep.
type rootsEntry struct{ roots []protocol.Root }

// of returns the roots that a session has reported. If they are nil, the caller asks for them and
// passes the entry to keep.
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

// put stores an entry, and evicts the oldest one if there are too many. The caller holds s.mu.
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

// maxKeptRoots limits the size of the roots that are kept for a session, in bytes. If a session has
// larger ones, each call asks again.
const maxKeptRoots = 16 << 10

// keep stores the answer of a session, unless its entry has been replaced or evicted since.
func (s *sessionRoots) keep(session string, ticket *rootsEntry, roots []protocol.Root) {
	size := 0
	for _, r := range roots {
		size += 64 + len(r.URI) + len(r.Name)
		if len(r.Meta) > 0 {
			meta, _ := json.Marshal(r.Meta) // it was decoded from JSON
			size += 16 * len(meta)          // maps need more than their text
		}
	}
	if size > maxKeptRoots {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[session] == ticket {
		ticket.roots = slices.Clone(roots)
	}
}

// forget drops the roots that a session has reported, including an answer that is still pending.
func (s *sessionRoots) forget(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.known[session]; ok {
		s.known[session] = &rootsEntry{}
	}
}
