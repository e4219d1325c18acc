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
