package serve_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/boltstore"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/transport/nethttp"
	"github.com/kagami-mcp/kagami/transport/stdio"
)

// TestOrdinaryClientsLogNoErrors runs many short sessions that end in the ways in which ordinary
// clients end them, on each store, and finds nothing logged as an error.
func TestOrdinaryClientsLogNoErrors(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) framework.Store{
		"no store": func(*testing.T) framework.Store { return nil },
		"memory":   func(*testing.T) framework.Store { return memory.New() },
		"bolt": func(t *testing.T) framework.Store {
			store, err := boltstore.Open(filepath.Join(t.TempDir(), "db"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = store.Close() })
			return store
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			core, logs := observer.New(zap.ErrorLevel)
			opts := []framework.AppOption{framework.WithLogger(zap.New(core))}
			if store := open(t); store != nil {
				opts = append(opts, framework.WithStore(store))
			}
			app := framework.New("quiet", "1", opts...)
			app.Add(framework.Tool("wait", func(ctx context.Context, _ struct{}) (string, error) {
				select {
				case <-time.After(20 * time.Millisecond):
				case <-ctx.Done():
				}
				return "done", ctx.Err()
			}))
			server, err := app.Build()
			if err != nil {
				t.Fatal(err)
			}
			web := httptest.NewServer(nethttp.Handler(server))
			for range 10 {
				var all sync.WaitGroup
				for i := range 20 {
					all.Go(func() { shortSession(t, web.URL, i) })
				}
				all.Wait()
			}
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			if err := server.Shutdown(ctx); err != nil {
				t.Error(err)
			}
			web.Close()
			for _, entry := range logs.All() {
				t.Errorf("%s: %v", entry.Message, entry.ContextMap())
			}
		})
	}
}

// shortSession is one client: a good one, one that leaves in the middle of a call, one that ends its
// session at once, and one that asks for what there is not.
func shortSession(t *testing.T, url string, kind int) {
	web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // no connection of a request that was cancelled
	post := func(session, body string) string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return ""
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		answer, err := web.Do(r)
		if err != nil {
			t.Error(err)
			return ""
		}
		_ = answer.Body.Close()
		return answer.Header.Get("Mcp-Session-Id")
	}
	switch kind % 4 {
	case 0, 1:
		session := post("", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		if session == "" {
			return
		}
		var both sync.WaitGroup
		both.Go(func() { post(session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`) })
		if kind%4 == 1 {
			both.Go(func() { post(session, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait"}}`) })
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, url, nil)
		if err != nil {
			t.Error(err)
			return
		}
		r.Header.Set("Mcp-Session-Id", session)
		if answer, err := web.Do(r); err == nil {
			_ = answer.Body.Close()
		}
		both.Wait()
	default:
		revision := protocol.Rev20251125
		if kind%4 == 3 {
			revision = protocol.Rev20260728
		}
		c, err := client.Connect(t.Context(), client.HTTP(url, client.HTTPClient(web)), client.Revisions(revision))
		if err != nil {
			t.Error(err)
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		_, _ = c.CallTool(ctx, "wait", nil)
		cancel()
		_, _ = c.CallTool(t.Context(), fmt.Sprint("none", kind), nil)
		_ = c.Close()
	}
}

// TestQuestionsOfAClientThatLeft closes the input of stdio while a question is open. The call
// fails, but that is not an error of the server.
func TestQuestionsOfAClientThatLeft(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(context.Context) error{
		"user":  func(ctx context.Context) error { _, err := framework.Elicit[bool](ctx, "Sure?"); return err },
		"model": func(ctx context.Context) error { _, err := framework.Generate(ctx, "Say something."); return err },
		"roots": func(ctx context.Context) error { _, err := framework.Roots(ctx); return err },
	} {
		for _, revision := range protocol.Revisions() {
			if revision == protocol.Rev20260728 || name == "user" && revision.String() < protocol.Rev20250618.String() {
				continue // no question waits
			}
			t.Run(name+" "+revision.String(), func(t *testing.T) {
				t.Parallel()
				core, logs := observer.New(zap.InfoLevel)
				app := framework.New("quiet", "1", framework.WithLogger(zap.New(core)))
				server, err := app.Add(framework.Tool("ask", func(ctx context.Context, _ struct{}) (string, error) { return "", ask(ctx) })).Build()
				if err != nil {
					t.Fatal(err)
				}
				in, client := io.Pipe()
				answers, out := io.Pipe()
				served := make(chan error, 1)
				go func() { served <- server.Serve(t.Context(), stdio.New(stdio.Streams(in, out))); _ = out.Close() }()
				go func() {
					_, _ = fmt.Fprintf(client, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{"elicitation":{},"sampling":{},"roots":{}},"clientInfo":{"name":"c","version":"1"}}}`+"\n", revision)
					_, _ = fmt.Fprint(client, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
					_, _ = fmt.Fprint(client, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask"}}`+"\n")
				}()
				for lines := bufio.NewScanner(answers); lines.Scan(); {
					if strings.Contains(lines.Text(), `"method":"`) {
						_ = client.Close()
					}
				}
				if err := <-served; err != nil {
					t.Error(err)
				}
				warned := false
				for _, entry := range logs.All() {
					warned = warned || entry.Level == zap.WarnLevel && entry.Message == "a tool failed"
					if entry.Level > zap.WarnLevel {
						t.Errorf("%s: %v", entry.Message, entry.ContextMap())
					}
				}
				if !warned {
					t.Errorf("logged %v, want a warning about the call", logs.All())
				}
			})
		}
	}
}
