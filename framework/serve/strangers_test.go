//go:build unix

package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/internal/redisserver"
	"github.com/kagami-mcp/kagami/framework/store/boltstore"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/framework/store/redisstore"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// TestStrangers checks requests with an ID that belongs to another caller, on every store, with and
// without principals. The answer is, to the byte, the same as for an ID that never existed, and
// nothing changes.
func TestStrangers(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]func(t *testing.T) framework.Store{
		"no store": func(*testing.T) framework.Store { return nil },
		"memory":   func(*testing.T) framework.Store { return memory.New() },
		"bolt": func(t *testing.T) framework.Store {
			s, err := boltstore.Open(filepath.Join(t.TempDir(), "store"))
			return opened(t, s, err)
		},
		"redis": func(t *testing.T) framework.Store {
			s, err := redisstore.Open(t.Context(), "redis://"+redisserver.Start(t).Addr())
			return opened(t, s, err)
		},
	} {
		for who, auth := range map[string]bool{"principals": true, "nobody": false} {
			t.Run(name+"/"+who, func(t *testing.T) {
				t.Parallel()
				s := serveHouse(t, store(t), auth)
				t.Run("tasks of sessions", s.strangersInSessions)
				t.Run("sessions and streams", s.strangersOnStreams)
				if auth {
					t.Run("tasks and states", s.strangersWithoutSessions)
				}
			})
		}
	}
}

// house is a server whose tools hand out everything that has an id.
type house struct {
	url  string
	auth bool
}

type sureIn struct {
	What string `json:"what,omitempty"`
}

func sure(ctx context.Context, in sureIn) (string, error) {
	yes, err := framework.Elicit[bool](ctx, "Sure?")
	return fmt.Sprint(in.What, yes), err
}

// serveHouse serves it for as long as the test runs.
func serveHouse(t *testing.T, store framework.Store, auth bool) *house {
	t.Helper()
	opts := []framework.AppOption{framework.WithLogger(zap.NewNop()), framework.WithShutdownGrace(time.Millisecond)}
	if store != nil {
		opts = append(opts, framework.WithStore(store))
	}
	if auth {
		opts = append(opts, framework.WithAuth(faultBearer{}))
	}
	app := framework.New("house", "1", opts...).Add(
		framework.Tool("quick", hello, framework.Describe("d"), framework.Task(framework.TaskOptional)),
		framework.Tool("nap", nap, framework.Describe("d"), framework.Task(framework.TaskOptional)),
		framework.Tool("sure", sure, framework.Describe("d"), framework.Task(framework.TaskOptional)),
		framework.Tool("rounds", sure, framework.Describe("d")),
		framework.Tool("other", sure, framework.Describe("d")),
	)
	server, err := app.Build()
	if err != nil {
		t.Fatal(err)
	}
	l := faultListener(t)
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() {
		ended <- server.Serve(ctx, nethttp.New("", nethttp.Listener(l), nethttp.Grace(100*time.Millisecond)))
	}()
	t.Cleanup(func() {
		end()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return &house{url: "http://" + l.Addr().String() + "/mcp", auth: auth}
}

// guest is a client of one revision; session is "" on 2026-07-28.
type guest struct {
	h        *house
	name     string
	revision protocol.Revision
	session  string
}

// told contains the parts of an answer that may reveal something.
type told struct {
	status        int
	kind, session string
	body          string
}

func (a told) String() string { return fmt.Sprintln(a.status, a.kind, a.body) }

// do sends a request and reads all of the answer.
func (g *guest) do(t *testing.T, method, body string, fields map[string]string) told {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, g.h.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Protocol-Version", g.revision.String())
	if g.h.auth {
		r.Header.Set("Authorization", "Bearer "+g.name)
	}
	if g.session != "" {
		r.Header.Set("Mcp-Session-Id", g.session)
	}
	for name, value := range fields {
		r.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return told{resp.StatusCode, resp.Header.Get("Content-Type"), resp.Header.Get("Mcp-Session-Id"), string(text)}
}

// ask is a request, and what was answered: status, type and body.
func (g *guest) ask(t *testing.T, method, params string) string {
	t.Helper()
	fields := map[string]string{"Accept": "application/json"} // a busy machine would make a stream of it
	if g.revision == protocol.Rev20260728 {
		params = fmt.Sprintf(`{"_meta":{"io.modelcontextprotocol/protocolVersion":"%s","io.modelcontextprotocol/clientCapabilities":`+
			`{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}},`, g.revision) + strings.TrimPrefix(params, "{")
		var named struct{ Name, TaskID string }
		if err := json.Unmarshal([]byte(params), &named); err != nil {
			t.Fatal(err)
		}
		fields["Mcp-Method"] = method
		if name := named.Name + named.TaskID; name != "" {
			fields["Mcp-Name"] = name
		}
	}
	return g.do(t, http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":%s}`, method, params), fields).String()
}

// one is the value of the first member of that name in the answer.
func one(t *testing.T, answer, member string) string {
	t.Helper()
	found := regexp.MustCompile(`"` + member + `":"([^"]+)"`).FindStringSubmatch(answer)
	if found == nil {
		t.Fatalf("no %s in %s", member, answer)
	}
	return found[1]
}

// shakes begins a session of 2025-11-25.
func (h *house) shakes(t *testing.T, name string) *guest {
	t.Helper()
	g := &guest{h: h, name: name, revision: protocol.Rev20251125}
	answer := g.do(t, http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",`+
		`"capabilities":{"elicitation":{"form":{}}},"clientInfo":{"name":"g","version":"1"}}}`, nil)
	if g.session = answer.session; g.session == "" {
		t.Fatalf("no session: %s", answer)
	}
	g.do(t, http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil)
	return g
}

// becomes waits for a status of a task.
func (g *guest) becomes(t *testing.T, id, status string) {
	t.Helper()
	for end := time.Now().Add(faultPatience); ; time.Sleep(10 * time.Millisecond) {
		got := g.ask(t, "tasks/get", fmt.Sprintf(`{"taskId":%q}`, id))
		if strings.Contains(got, fmt.Sprintf(`"status":%q`, status)) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the task is not %s: %s", status, got)
		}
	}
}

// same holds the two answers against each other, but for the ids that were asked for.
func same(t *testing.T, what, foreign, id, unknown, none string) {
	t.Helper()
	if got, want := strings.ReplaceAll(foreign, id, "ID"), strings.ReplaceAll(unknown, none, "ID"); got != want {
		t.Errorf("%s\nof another's: %sof no one's:  %s", what, got, want)
	}
}

const noTaskID = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

// began makes one task of each kind, and waits for what becomes of them.
func (g *guest) began(t *testing.T, wish string) map[string]string {
	t.Helper()
	ids := map[string]string{}
	for status, call := range map[string]string{
		"completed":      `{"name":"quick","arguments":{"name":"a"}`,
		"working":        `{"name":"nap","arguments":{"milliseconds":600000}`,
		"input_required": `{"name":"sure","arguments":{}`,
	} {
		ids[status] = one(t, g.ask(t, "tools/call", call+wish+"}"), "taskId")
		g.becomes(t, ids[status], status)
	}
	return ids
}

func (h *house) strangersInSessions(t *testing.T) {
	t.Parallel()
	alice, bob := h.shakes(t, "alice"), h.shakes(t, "bob")
	modern := &guest{h: h, name: "bob", revision: protocol.Rev20260728}
	ids := alice.began(t, `,"task":{}`)
	for status, id := range ids {
		for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel", "tasks/update"} {
			params := `{"taskId":%q,"inputResponses":{"q1":{"action":"accept","content":{"value":true}}}}`
			for who, g := range map[string]*guest{"in a session": bob, "without one": modern} {
				same(t, method+" of what is "+status+", "+who, g.ask(t, method, fmt.Sprintf(params, id)), id, g.ask(t, method, fmt.Sprintf(params, noTaskID)), noTaskID)
			}
		}
	}
	same(t, "subscriptions/listen", h.listens(t, modern, ids["working"]), ids["working"], h.listens(t, modern, noTaskID), noTaskID)
	if got := bob.ask(t, "tasks/list", `{}`); strings.Contains(got, ids["working"]) || !strings.Contains(got, `"tasks":[]`) {
		t.Errorf("bob lists %s", got)
	}
	for status, id := range ids {
		alice.becomes(t, id, status)
	}
}

// listens is the first event of a stream that is to tell of a task.
func (h *house) listens(t *testing.T, g *guest, id string) string {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":9,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}},"notifications":{"taskIds":[%q]}}}`, id)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28",
		"Mcp-Method": "subscriptions/listen", "Authorization": "Bearer " + g.name,
	} {
		r.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	first := make([]byte, 4<<10)
	n, _ := resp.Body.Read(first)
	return fmt.Sprintln(resp.StatusCode, resp.Header.Get("Content-Type"), string(first[:n]))
}

func (h *house) strangersOnStreams(t *testing.T) {
	t.Parallel()
	alice, bob := h.shakes(t, "alice"), h.shakes(t, "bob")
	called := alice.do(t, http.MethodPost, `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"nap","arguments":{"milliseconds":1},"_meta":{"progressToken":1}}}`, nil)
	event := regexp.MustCompile(`id: (\S+)`).FindStringSubmatch(called.body)
	if event == nil {
		t.Fatalf("no event: %s", called)
	}
	tag, rest, _ := strings.Cut(event[1], ".")
	other := strings.Repeat("A", len(tag)) + "." + rest
	get := func(g *guest, id string) string {
		return g.do(t, http.MethodGet, "", map[string]string{"Last-Event-ID": id}).String()
	}
	if got := get(alice, event[1]); !strings.Contains(got, "rested") {
		t.Errorf("alice resumes: %s", got)
	}
	same(t, "resuming in a session of one's own", get(bob, event[1]), event[1], get(bob, other), other)
	if h.auth {
		stolen := &guest{h: h, name: "bob", revision: protocol.Rev20251125, session: alice.session}
		unknown := &guest{h: h, name: "bob", revision: protocol.Rev20251125, session: noTaskID}
		same(t, "resuming in another's session", get(stolen, event[1]), alice.session, get(unknown, event[1]), noTaskID)
		for _, text := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`, `{`,
		} {
			same(t, text, stolen.do(t, http.MethodPost, text, nil).String(), alice.session, unknown.do(t, http.MethodPost, text, nil).String(), noTaskID)
		}
		same(t, "DELETE", stolen.do(t, http.MethodDelete, "", nil).String(), alice.session, unknown.do(t, http.MethodDelete, "", nil).String(), noTaskID)
	}
	if got := alice.ask(t, "ping", `{}`); !strings.HasPrefix(got, "200") {
		t.Errorf("the session of alice: %s", got)
	}
}

func (h *house) strangersWithoutSessions(t *testing.T) {
	t.Parallel()
	alice := &guest{h: h, name: "ada", revision: protocol.Rev20260728}
	bob := &guest{h: h, name: "bob", revision: protocol.Rev20260728}
	ids := alice.began(t, "")
	for status, id := range ids {
		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			params := `{"taskId":%q,"inputResponses":{"q1":{"action":"accept","content":{"value":true}}}}`
			same(t, method+" of what is "+status, bob.ask(t, method, fmt.Sprintf(params, id)), id, bob.ask(t, method, fmt.Sprintf(params, noTaskID)), noTaskID)
		}
	}
	same(t, "subscriptions/listen", h.listens(t, bob, ids["working"]), ids["working"], h.listens(t, bob, noTaskID), noTaskID)
	for status, id := range ids {
		alice.becomes(t, id, status)
	}
	state := one(t, alice.ask(t, "tools/call", `{"name":"rounds","arguments":{"what":"a"}}`), "requestState")
	for what, c := range map[string]struct {
		g    *guest
		call string
	}{
		"another's state":    {bob, `{"name":"rounds","arguments":{"what":"a"}`},
		"for another tool":   {alice, `{"name":"other","arguments":{"what":"a"}`},
		"for other argument": {alice, `{"name":"rounds","arguments":{"what":"b"}`},
	} {
		with := func(state string) string {
			return c.g.ask(t, "tools/call", c.call+`,"inputResponses":{"q1":{"action":"accept","content":{"value":true}}},"requestState":"`+state+`"}`)
		}
		made := strings.Repeat("A", len(state))
		same(t, what, with(state), state, with(made), made)
	}
}
