package testkit

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/testhook"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// chaos makes the calls of a session under Chaos.
type chaos struct {
	s      *Session
	secret []byte                           // seals the states of all servers of the session
	claims claim.Store                      // shared by all servers; nil: each has its own
	latest atomic.Pointer[framework.Server] // has the handles of the newest app
}

// Bounds of a call under chaos: more rounds or effects suggest a loop.
const (
	maxChaosRounds  = 64
	maxChaosCrashes = 256
)

// Chaos makes every later call run with fresh state each round, each round twice, and a crash after
// each Once.
//
// The session needs an AppSource that is a function. Each execution has a server of its own. It shares
// the secret of the states with the others, and the store of the session or the app. The first
// execution of a round ends right after its first effect, the next one after the second, and so on.
// Each ends as by a crash: nothing of it is kept. The first execution without a further effect to crash
// after is sent once more, and the call continues with that answer. If questions or effects differ
// between the two, the test fails.
//
// An effect of a correct handler runs many times, but with one idempotency key. Code of a handler
// outside Once also runs several times: count it. The first request of a call is sent once, because
// sent again it would be another call, with other keys. At revisions without rounds, Chaos changes
// nothing.
func (s *Session) Chaos() {
	s.t.Helper()
	if !s.config.dialect.InputRounds() {
		return
	}
	if s.testServer.source == nil {
		s.t.Fatalf("testkit: Chaos needs a function that makes an app for each round: give New that instead of an *App")
	}
	s.chaos.Store(&chaos{s: s, secret: []byte(rand.Text())})
}

// call runs all rounds of one call.
func (c *chaos) call(method string, params json.RawMessage) *Answer {
	s := c.s
	s.t.Helper()
	ctx, cancel := s.bounded()
	defer cancel()
	got := c.run(ctx, method, params, 0)
	for range maxChaosRounds {
		required := requiredOf(s.config.dialect, method, got.raw)
		if required == nil {
			return s.answer(method, params, got.raw, got.err)
		}
		next, err := c.fulfill(required)
		if err != nil {
			return s.answer(method, params, nil, err)
		}
		got = c.round(ctx, method, next.params(params))
	}
	s.t.Fatalf("testkit: %s asks for ever: %d rounds\nsent: %s", method, maxChaosRounds, params)
	return nil
}

// fulfill answers the questions of a round by the script.
func (c *chaos) fulfill(required *protocol.InputRequiredResult) (retry, error) {
	next := retry{state: required.State}
	for _, q := range required.Requests {
		result, err := c.s.scriptedAnswer(q.Params)
		if err != nil {
			return next, err
		}
		a, err := encoded(c.s.config.dialect, q.Key, result)
		if err != nil {
			return next, err
		}
		next.answers = append(next.answers, a)
	}
	return next, nil
}

// round executes one round with a crash after each effect in turn. The last execution has no
// further effect to crash after, and is repeated once.
func (c *chaos) round(ctx context.Context, method string, params json.RawMessage) outcome {
	c.s.t.Helper()
	for after := 1; after <= maxChaosCrashes; after++ {
		first := c.run(ctx, method, params, after)
		if first.crashed {
			continue
		}
		second := c.run(ctx, method, params, 0)
		c.compare(method, params, first, second)
		return second
	}
	c.s.t.Fatalf("testkit: %s has effects for ever: %d of them\nsent: %s", method, maxChaosCrashes, params)
	return outcome{}
}

// outcome is the outcome of one execution.
type outcome struct {
	raw     json.RawMessage
	err     error
	effects []string
	crashed bool
	shared  bool // the servers share the claims
}

// stage records the effects of one execution, and ends the execution after a number of them.
type stage struct {
	after int // 0: never

	mu  sync.Mutex // guards got
	got outcome
}

func (st *stage) performed(_ context.Context, key string) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.got.effects = append(st.got.effects, key)
	if st.after == 0 || len(st.got.effects) < st.after {
		return nil
	}
	st.got.crashed = true
	return &protocol.Error{Code: protocol.CodeInternal, Message: fmt.Sprintf("testkit: crashed after %q", key)}
}

// run executes one request on a server of its own.
func (c *chaos) run(ctx context.Context, method string, params json.RawMessage, after int) outcome {
	s := c.s
	s.t.Helper()
	st := &stage{after: after}
	app := s.testServer.source()
	if s.config.store != nil {
		app = on(app, s.config.store)
	}
	server, err := app.BuildForTest(&testhook.Hooks{
		Logger: s.testServer.journal.logger(), Secret: c.secret, Claims: c.claims, Differs: s.testServer.differs, Performed: st.performed, Now: s.testServer.now,
	})
	if err != nil {
		s.t.Fatalf("testkit: a fresh app does not build: %v", err)
	}
	defer s.testServer.shutdown(s.t, server)
	if err := server.Start(ctx); err != nil {
		s.t.Fatalf("testkit: a fresh server does not start: %v", err)
	}
	c.latest.Store(server)
	peer, hangUp, err := s.connect(ctx, server)
	if err != nil {
		s.t.Fatalf("testkit: connecting to a fresh server over %s: %v", s.config.carrier.name, err)
	}
	raw, err := peer.Request(ctx, method, params, client.OnProgress(s.progressed))
	if closing := hangUp(); closing != nil {
		s.t.Errorf("testkit: closing a fresh session: %v", closing)
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.got.raw, st.got.err, st.got.shared = raw, err, server.Claims() != nil
	return st.got
}

// compare fails the test if two executions of a round differ.
func (c *chaos) compare(method string, params json.RawMessage, first, second outcome) {
	t := c.s.t
	t.Helper()
	report := func(what string, one, other any) {
		t.Helper()
		t.Errorf("testkit: a round of %s that is sent again %s\nsent:  %s\nfirst: %v\nagain: %v", method, what, params, one, other)
	}
	if first.shared { // the second execution got the outcome of the first
		if !bytes.Equal(first.raw, second.raw) || !sameRefusal(first.err, second.err) {
			report("has another outcome", first, second)
		}
		return
	}
	if one, other := slices.Sorted(slices.Values(first.effects)), slices.Sorted(slices.Values(second.effects)); !slices.Equal(one, other) {
		report("has other effects", one, other)
	}
	d := c.s.config.dialect
	one, other := requiredOf(d, method, first.raw), requiredOf(d, method, second.raw)
	switch {
	case (one == nil) != (other == nil):
		report("asks at one time and not at the other", first, second)
	case one != nil:
		c.compareQuestions(report, one, other)
	}
}

// compareQuestions compares the questions that have the same key. Which questions a round asks
// may vary if they have keys of their own (framework.Key).
func (c *chaos) compareQuestions(report func(string, any, any), one, other *protocol.InputRequiredResult) {
	asked := make(map[string]string)
	for _, q := range one.Requests {
		asked[q.Key] = c.text(q)
	}
	for _, q := range other.Requests {
		if was, both := asked[q.Key]; both && was != c.text(q) {
			report("asks something else", was, c.text(q))
		}
	}
}

func (c *chaos) text(q protocol.InputRequest) string {
	text, err := c.s.config.dialect.AppendParams(nil, q.Params, nil)
	if err != nil {
		return err.Error()
	}
	return q.Key + ": " + string(text)
}

func sameRefusal(a, b error) bool {
	x, y := asError(a), asError(b)
	if x == nil || y == nil {
		return a == nil && b == nil
	}
	return *x == *y
}

// String returns the outcome for failure messages.
func (o outcome) String() string {
	if o.err != nil {
		return o.err.Error()
	}
	return string(o.raw)
}
