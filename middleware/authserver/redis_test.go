package authserver_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/redisstore"
	"github.com/kagami-mcp/kagami/middleware/authserver"
	"github.com/kagami-mcp/kagami/protocol/session"
)

// redis starts a redis-server that ends with the test, and returns its address.
func redis(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("no redis-server")
	}
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	server := exec.CommandContext(t.Context(), program, "--port", "0", "--unixsocket", socket, "--save", "", "--dir", dir)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait() // it was killed
	})
	return "unix://" + socket
}

// Two processes share a Redis, and each request reaches the other one than the last: the whole flow
// goes on, parallel refreshes have one answer, keys are the same, and a revocation is felt in both.
func TestTwoProcessesOnRedis(t *testing.T) {
	t.Parallel()
	address := redis(t)
	open := func() session.Store {
		for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
			store, err := redisstore.Open(t.Context(), address)
			if err == nil {
				t.Cleanup(func() { _ = store.Close() })
				return store.Sessions()
			}
			if time.Since(began) > 20*time.Second {
				t.Fatal(err)
			}
		}
	}
	var both [2]http.Handler
	var turn atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { both[turn.Add(1)%2].ServeHTTP(w, r) }))
	t.Cleanup(web.Close)
	s := &site{t: t, issuer: web.URL, resource: web.URL + "/mcp"}
	var twins [2]*authserver.Server
	for i := range twins {
		as, err := authserver.New(s.issuer, authserver.Own(authserver.DevLogin(ann())), noteScopes(), authserver.Store(open()),
			authserver.Seal(bytes.Repeat([]byte{3}, 32)), authserver.Limit(1000, 1000, 1000, nil))
		if err != nil {
			t.Fatal(err)
		}
		s.guard = as.Guard(s.resource)
		twins[i], both[i] = as, as.Handler()
	}
	id := s.register(plainClient)
	access, token := s.grant(id, "ann")
	for range 10 {
		var wg sync.WaitGroup
		bodies := make([]string, 6)
		for i := range bodies {
			wg.Go(func() { bodies[i] = s.refresh(id, token).body })
		}
		wg.Wait()
		for _, body := range bodies {
			if body != bodies[0] || !strings.Contains(body, "refresh_token") {
				t.Fatalf("%s\n%s", bodies[0], body)
			}
		}
		token = (&answer{body: bodies[0]}).text(t, "refresh_token")
	}
	if p, ok := s.admits(access); !ok || p.Subject != "ann" {
		t.Fatal("the second process does not take the token")
	}
	if n, err := twins[0].Revoke(t.Context(), "ann", ""); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		if _, ok := s.admits(access); !ok {
			break
		}
		if time.Since(began) > 7*time.Second {
			t.Fatal("the second process takes the token after 7 s")
		}
	}
}
