package authserver_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/middleware/authserver"
)

// A flood of visits from many addresses takes no more than its part of the store: a person who has begun
// can finish, others can begin, and grants are renewed.
func TestVisits_Flood(t *testing.T) {
	t.Parallel()
	const room = 100 // of the store, for all but visits
	store := memory.Sized(memory.Bounds{SessionRecords: authserver.MaxVisits + room}).Sessions()
	s := open(t, nil, authserver.Store(store), authserver.Seal(bytes.Repeat([]byte{1}, 32)),
		authserver.Limit(1000, 1000, 1000, func(r *http.Request) string { return r.RemoteAddr + r.Header.Get("X-Real") }))
	id := s.register(plainClient)
	_, refresh := s.grant(id, "bob")
	early := s.browser()
	page := early.login(s.ask(id), "ann")

	h := s.server.Handler()
	for i := range authserver.MaxVisits + 2*room {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, s.ask(id), nil)
		r.RemoteAddr = fmt.Sprintf("192.0.2.%d", i%100)
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Fatalf("visit %d: %d", i, w.Code)
		}
	}
	if a := early.press(page, "decision", "approve"); a.status != http.StatusSeeOther || a.to.Query().Get("code") == "" {
		t.Errorf("a visit from before the flood: %d %s", a.status, a.body)
	}
	if a := s.redeem(id, s.browser().code(s.ask(id), "ann")); a.status != http.StatusOK {
		t.Errorf("a visit after it: %d %s", a.status, a.body)
	}
	if a := s.refresh(id, refresh); a.status != http.StatusOK {
		t.Errorf("a renewal: %d %s", a.status, a.body)
	}
}

// The address with the most visits loses its oldest one, and visits that have ended make room first.
func TestVisits_WhoLosesOne(t *testing.T) {
	t.Parallel()
	v := authserver.NewVisits()
	for range authserver.MaxVisits - 3 {
		v.Add("crowd", "crowd", 10)
	}
	v.Add("one", "one", 1)
	v.Add("two", "two a", 20)
	v.Add("two", "two b", 20)
	if got := v.Add("new", "new", 20); got != "" {
		t.Errorf("%q makes room, and one has ended", got)
	}
	if got := v.Add("two", "two c", 20); got != "crowd" {
		t.Errorf("%q is dropped for another visit", got)
	}
	v.Later(15)
	if got := v.Add("three", "three", 20); got != "" {
		t.Errorf("%q is dropped, and the crowd has ended", got)
	}
}
