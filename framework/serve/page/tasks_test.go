package page_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve/page"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// TestListedTasks: tasks of the same principal on another page are listed where the revision has a list, and can be read and cancelled.
func TestListedTasks(t *testing.T) {
	t.Parallel()
	server := host(t, framework.Tool("work", func(ctx context.Context, in struct {
		Long bool `json:"long,omitempty"`
	},
	) (string, error) {
		if in.Long {
			<-ctx.Done()
			return "", ctx.Err()
		}
		return "worked", nil
	}, framework.Task(framework.TaskOptional)))
	inner := nethttp.Handler(server)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // tasks belong to their principal
		inner.ServeHTTP(w, r.WithContext(transport.WithPrincipal(r.Context(), &transport.Principal{Subject: "ann"})))
	}))
	t.Cleanup(site.Close)
	one, other := opened(t, page.Options{URL: site.URL}), opened(t, page.Options{URL: site.URL})
	type listed struct {
		Listed bool
		Tasks  []struct {
			ID, Status string
			Over       bool
		}
	}
	for _, rev := range []string{"2025-11-25", "2026-07-28"} {
		one.ask(http.MethodPost, "/api/connect", `{"revision":"`+rev+`"}`, nil)
		other.ask(http.MethodPost, "/api/connect", `{"revision":"`+rev+`"}`, nil)
		one.end(one.start(`{"method":"tools/call","name":"work","task":true}`))
		var found listed
		other.ask(http.MethodGet, "/api/tasks", "", &found)
		if rev == "2026-07-28" {
			if found.Listed || len(found.Tasks) > 0 {
				t.Errorf("%s: %+v", rev, found)
			}
			continue
		}
		if !found.Listed || len(found.Tasks) != 1 || found.Tasks[0].Status != "completed" || !found.Tasks[0].Over {
			t.Fatalf("%+v", found)
		}
		if d := other.end(other.start(`{"method":"tasks/result","name":"` + found.Tasks[0].ID + `"}`)); !strings.Contains(string(d.Result), "worked") {
			t.Errorf("%+v, result %s", d, d.Result)
		}
		running := one.start(`{"method":"tools/call","name":"work","arguments":{"long":true},"task":true}`)
		for len(found.Tasks) < 2 {
			other.ask(http.MethodGet, "/api/tasks", "", &found)
		}
		if status := other.do(http.MethodDelete, "/api/tasks/"+found.Tasks[1].ID, "", nil).status; status != http.StatusNoContent {
			t.Errorf("cancelling: %d", status)
		}
		if d := one.end(running); d.Phase == "result" && !d.IsError {
			t.Errorf("%+v", d)
		}
		if status := other.do(http.MethodDelete, "/api/tasks/none", "", nil).status; status != http.StatusBadGateway {
			t.Errorf("cancelling nothing: %d", status)
		}
	}
}
