package authserver_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/middleware/authserver"
)

// slowFirst is a Fetcher: the first fetch waits for fail, and then fails. Later ones give the document.
type slowFirst struct {
	calls atomic.Int64
	begun chan struct{}
	fail  chan struct{}
	text  string
}

func (s *slowFirst) Fetch(context.Context, string) ([]byte, time.Duration, error) {
	if s.calls.Add(1) == 1 {
		close(s.begun)
		<-s.fail
		return nil, 0, errors.New("timeout")
	}
	return []byte(s.text), time.Hour, nil
}

// TestDocument_FailureAfterSuccess: a fetch that fails does not replace what another fetch has got meanwhile.
func TestDocument_FailureAfterSuccess(t *testing.T) {
	t.Parallel()
	const at = "https://client.example/meta.json"
	w := &slowFirst{begun: make(chan struct{}), fail: make(chan struct{}), text: `{"client_id":"` + at + `","client_name":"Doc","redirect_uris":["` + callback + `"]}`}
	s := open(t, nil, authserver.Documents(w))
	first := make(chan int, 1)
	go func() { first <- s.browser().do(http.MethodGet, s.ask(at), nil).status }()
	<-w.begun
	second := s.browser().do(http.MethodGet, s.ask(at), nil).status
	close(w.fail)
	got := []int{<-first, second, s.browser().do(http.MethodGet, s.ask(at), nil).status}
	if got[0] == http.StatusBadRequest || got[2] == http.StatusBadRequest {
		t.Errorf("%v", got)
	}
}

// TestDocument_RequesterLeaves: the client of a request that ended early is not refused for a minute.
func TestDocument_RequesterLeaves(t *testing.T) {
	t.Parallel()
	const at = "https://client.example/meta.json"
	ctx, cancel := context.WithCancel(t.Context())
	w := leaving{cancel, `{"client_id":"` + at + `","client_name":"Doc","redirect_uris":["` + callback + `"]}`}
	s := open(t, nil, authserver.Documents(w))
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.ask(at), nil)
	if err != nil {
		t.Fatal(err)
	}
	s.server.Handler().ServeHTTP(nopWriter{http.Header{}}, r)
	if ctx.Err() == nil {
		t.Fatal("the test means a request that fetches")
	}
	if a := s.browser().do(http.MethodGet, s.ask(at), nil); a.status != http.StatusOK {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// leaving is a Fetcher: during the first fetch the requester leaves.
type leaving struct {
	leave context.CancelFunc
	text  string
}

func (l leaving) Fetch(ctx context.Context, _ string) ([]byte, time.Duration, error) {
	l.leave()
	return []byte(l.text), time.Hour, ctx.Err()
}
