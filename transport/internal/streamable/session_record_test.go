package streamable_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// TestRecordOfANewerVersion checks that a node leaves a session to other nodes if it cannot read
// the session's record. It neither ends the session nor writes the record.
func TestRecordOfANewerVersion(t *testing.T) {
	t.Parallel()
	for _, newer := range []string{`{"v":1,"home":"x","new":1}`, `{"v":1,"home":["x"]}`} {
		synctest.Test(t, func(t *testing.T) {
			p := newPair(t, polling, streamable.Config{}, answers)
			defer p.stop()
			id, _, _ := strings.Cut(p.store.ids[0], "{")
			r, err := p.all.Sessions().Get(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			r.Data = []byte(newer + "\n0")
			if err := p.all.Sessions().Update(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			for node, s := range map[string]*site{"a node that serves it": p.a, "another node": p.b} {
				for _, method := range []string{http.MethodPost, http.MethodDelete} {
					if got := s.do(method, "add"); got.Status != http.StatusServiceUnavailable {
						t.Errorf("%s: %s is answered with %d", node, method, got.Status)
					}
				}
			}
			if now, err := p.all.Sessions().Get(t.Context(), id); err != nil || string(now.Data) != string(r.Data) {
				t.Errorf("the record is %s now, %v", now.Data, err)
			}
		})
	}
}
