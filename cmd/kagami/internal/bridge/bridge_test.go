package bridge_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kagami-mcp/kagami/cmd/kagami/internal/bridge"
)

// asServer is the environment variable that makes the test program a server. The server puts the
// value into its answers.
const asServer = "KAGAMI_BRIDGE_SERVER"

func TestMain(m *testing.M) {
	if name := os.Getenv(asServer); name != "" {
		serve(name)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// message is what the server reads.
type message struct {
	ID     json.RawMessage
	Method string
	Result json.RawMessage
	Params map[string]json.RawMessage
}

// serve answers each request with its own name and the method. Some methods do more. It answers each message
// of a batch by itself. With a name such as "two:FILE", it answers a subscription when FILE exists.
func serve(name string) {
	say := func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	name, file, waits := strings.Cut(name, ":")
	lines := bufio.NewScanner(os.Stdin)
	var waiting string // id of a call that waits for the answer to a question
	var seen []string  // methods that count, with their URIs
	var all []message
	for len(all) > 0 || lines.Scan() {
		if len(all) == 0 && json.Unmarshal(lines.Bytes(), &all) != nil {
			var one message
			_ = json.Unmarshal(lines.Bytes(), &one)
			all = []message{one}
		}
		m := all[0]
		all = all[1:]
		if strings.HasPrefix(m.Method, "resources/") || m.Method == "effect" {
			seen = append(seen, m.Method+string(m.Params["uri"]))
		}
		switch {
		case m.Method == "seen":
			text, _ := json.Marshal(seen)
			say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, text)
		case m.Method == "resources/subscribe" && waits:
			_ = os.WriteFile(file+".asked", nil, 0o600)
			for _, err := os.Stat(file); err != nil; _, err = os.Stat(file) {
				time.Sleep(5 * time.Millisecond)
			}
			say(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
		case m.Method == "ask":
			waiting = string(m.ID)
			say(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"by":%q}}`, name)
		case m.Method == "" && string(m.ID) == "1":
			say(`{"jsonrpc":"2.0","id":%s,"result":{"by":%q,"told":%s}}`, waiting, name, m.Result)
		case m.Method == "hang":
		case m.Method == "notifications/cancelled":
			say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"%s cancels %s"}}`, name, m.Params["requestId"])
		case m.Method == "crash":
			return
		case m.Method == "round" && m.Params["requestState"] == nil:
			say(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","requestState":"of %s"}}`, m.ID, name)
		case m.Method == "subscriptions/listen":
			say(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, m.ID)
		case m.Method == "initialize":
			say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"%s early"}}`, name)
			fallthrough
		case len(m.ID) > 0:
			say(`{"jsonrpc":"2.0","id":%s,"result":{"by":%q,"method":%q}}`, m.ID, name, m.Method)
		}
	}
}

// session is a client of a bridge.
type session struct {
	t      *testing.T
	bridge *bridge.Bridge
	in     *io.PipeWriter
	lines  chan string
}

func open(t *testing.T) *session {
	t.Helper()
	in, toBridge := io.Pipe()
	fromBridge, out := io.Pipe()
	s := &session{t: t, bridge: bridge.New(out), in: toBridge, lines: make(chan string, 100)}
	served, read := make(chan error, 1), make(chan struct{})
	go func() { served <- s.bridge.Serve(t.Context(), in) }()
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(fromBridge); lines.Scan(); {
			s.lines <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		_ = toBridge.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
		s.bridge.Close()
		_ = out.Close()
		<-read
	})
	return s
}

func (s *session) replace(name string, changed ...string) {
	s.t.Helper()
	program, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), asServer+"="+name)
	if err := s.bridge.Replace(s.t.Context(), cmd, changed...); err != nil {
		s.t.Fatal(err)
	}
}

func (s *session) send(line string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		s.t.Fatal(err)
	}
}

// hears waits for these lines in any order, and allows no other lines in between.
func (s *session) hears(want ...string) {
	s.t.Helper()
	for len(want) > 0 {
		select {
		case line := <-s.lines:
			found := false
			for i, w := range want {
				if !found && w == line {
					want, found = append(want[:i:i], want[i+1:]...), true
				}
			}
			if !found {
				s.t.Fatalf("got  %s\nwant  %s", line, strings.Join(want, "\n       "))
			}
		case <-time.After(20 * time.Second):
			s.t.Fatalf("did not receive %s", strings.Join(want, "\n"))
		}
	}
}

func answer(id, by, method string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"by":%q,"method":%q}}`, id, by, method)
}

const toolsChanged = "notifications/tools/list_changed"

// TestSession checks that a session of a handshake revision continues with another process.
func TestSession(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`) // before the first process
	s.replace("one")
	s.hears(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"one early"}}`, answer("0", "one", "initialize"))
	s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	s.send(`{"jsonrpc":"2.0","id":"sub","method":"resources/subscribe","params":{"uri":"a://b"}}`)
	s.hears(answer(`"sub"`, "one", "resources/subscribe"))
	s.send(`{"jsonrpc":"2.0","id":1,"method":"ask"}`)
	s.hears(`{"jsonrpc":"2.0","id":"1:1","method":"elicitation/create","params":{"by":"one"}}`)
	s.send(`{"jsonrpc":"2.0","id":2,"method":"hang"}`)

	s.replace("two", toolsChanged)
	s.hears(`{"jsonrpc":"2.0","method":"`+toolsChanged+`"}`, `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"two early"}}`)
	s.send(`{"jsonrpc":"2.0","id":3,"method":"ask"}`)
	s.hears(`{"jsonrpc":"2.0","id":"2:1","method":"elicitation/create","params":{"by":"two"}}`)
	s.send(`{"jsonrpc":"2.0","id":"1:1","result":{"a":1}}`) // the answer for the old process
	s.hears(`{"jsonrpc":"2.0","id":1,"result":{"by":"one","told":{"a":1}}}`)
	s.send(`{"jsonrpc":"2.0","id":"1:1","result":{"a":1}}`) // no process waits for it any more
	s.send(`[{"jsonrpc":"2.0","id":"2:1","result":{"a":2}}]`)
	s.hears(`{"jsonrpc":"2.0","id":3,"result":{"by":"two","told":{"a":2}}}`)
	s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	s.hears(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"one cancels 2"}}`)
	s.send(`[{"jsonrpc":"2.0","id":8,"method":"x"},{"jsonrpc":"2.0","id":9,"method":"y"}]`)
	s.hears(answer("8", "two", "x"), answer("9", "two", "y"))
	s.send(`{"jsonrpc":"2.0","id":4,"method":"ping"}`)
	s.hears(answer("4", "two", "ping"))
}

// TestBatch checks that only what recreates the session is repeated of a batch.
func TestBatch(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`)
	s.replace("one")
	s.hears(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"one early"}}`, answer("0", "one", "initialize"))
	s.send(`[{"jsonrpc":"2.0","id":1,"method":"effect"},{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"a://b"}}]`)
	s.hears(answer("1", "one", "effect"), answer("2", "one", "resources/subscribe"))
	s.replace("two")
	s.hears(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"two early"}}`)
	s.send(`{"jsonrpc":"2.0","id":3,"method":"seen"}`)
	s.hears(`{"jsonrpc":"2.0","id":3,"result":["resources/subscribe\"a://b\""]}`)
}

// TestUnsubscribed checks that an end of a subscription counts for the next process, also while it starts, and
// in another spelling of the URI.
func TestUnsubscribed(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.replace("one")
	for i, uri := range []string{"a://b", "a://c", "a://~d", `a:\/\/e`, "a://~f", "a://%7Ef"} {
		s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/subscribe","params":{"uri":"%s"}}`, i, uri))
		s.hears(answer(fmt.Sprint(i), "one", "resources/subscribe"))
	}
	for i, uri := range []string{"a://%7Ed", "a://e", "a://~f"} {
		s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1%d,"method":"resources/unsubscribe","params":{"uri":%q}}`, i, uri))
		s.hears(answer(fmt.Sprintf("1%d", i), "one", "resources/unsubscribe"))
	}
	file := filepath.Join(t.TempDir(), "go")
	replaced := make(chan struct{})
	go func() {
		defer close(replaced)
		s.replace("two:" + file)
	}()
	for range 2000 { // until "two" is asked
		if _, err := os.Stat(file + ".asked"); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.send(`{"jsonrpc":"2.0","id":20,"method":"resources/unsubscribe","params":{"uri":"a://c"}}`)
	s.hears(answer("20", "one", "resources/unsubscribe"))
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-replaced
	s.send(`{"jsonrpc":"2.0","id":21,"method":"seen"}`)
	s.hears(`{"jsonrpc":"2.0","id":21,"result":["resources/subscribe\"a://%7Ef\"","resources/subscribe\"a://b\"","resources/subscribe\"a://c\"","resources/unsubscribe\"a://c\""]}`)
}

// TestBroken checks that calls are refused in the form of the revision, and that all other requests
// are answered.
func TestBroken(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.bridge.Break("no \"Go\"")
	s.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
	s.hears(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"no \"Go\""}],"isError":true}}`)
	s.replace("one")
	s.bridge.Break("again")
	s.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{}}`)
	s.send(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)
	s.hears(`{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"again"}],"isError":true}}`, answer("3", "one", "tools/list"))
	s.replace("two")
	s.send(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{}}`)
	s.hears(answer("4", "two", "tools/call"))
}

// TestStateless checks 2026-07-28: streams continue, and a call in rounds stays with the process
// that has begun it.
func TestStateless(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.replace("one")
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	s.send(`{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + meta + `}}`)
	s.hears(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7}}}`)
	s.send(`{"jsonrpc":"2.0","id":1,"method":"round","params":{` + meta + `}}`)
	s.hears(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"of one"}}`)
	s.replace("two", toolsChanged, "notifications/prompts/list_changed")
	s.hears(`{"jsonrpc":"2.0","method":"` + toolsChanged + `","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7}}}`)
	s.send(`{"jsonrpc":"2.0","id":2,"method":"round","params":{"requestState":"of one",` + meta + `}}`)
	s.hears(answer("2", "one", "round"))
	s.send(`{"jsonrpc":"2.0","id":3,"method":"round","params":{"requestState":"of nobody",` + meta + `}}`)
	s.hears(answer("3", "two", "round"))
	s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	s.hears(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"two cancels 7"}}`)
	s.replace("three", toolsChanged)
	s.send(`{"jsonrpc":"2.0","id":4,"method":"ping"}`)
	s.hears(answer("4", "three", "ping"))
}

// TestCrash checks that the open requests of a process are answered when it ends, and so are
// requests before the next process.
func TestCrash(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.replace("one")
	s.send(`{"jsonrpc":"2.0","id":1,"method":"crash"}`)
	const ended = `"error":{"code":-32603,"message":"kagami dev: the server ended before it answered; its log shows the cause"}}`
	s.hears(`{"jsonrpc":"2.0","id":1,` + ended)
	<-s.bridge.Gone()
	s.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	s.hears(`{"jsonrpc":"2.0","id":2,` + ended)
	s.replace("two")
	s.send(`{"jsonrpc":"2.0","id":3,"method":"ping"}`)
	s.hears(answer("3", "two", "ping"))
	if err := s.bridge.Replace(t.Context(), exec.Command("/no/such/program")); err == nil {
		t.Error("a program that does not exist became the current process")
	}
	s.send(`{"jsonrpc":"2.0","id":4,"method":"ping"}`)
	s.hears(answer("4", "two", "ping"))
}

// TestProxyLetsThisMachineIn checks the protection against DNS rebinding: a host name that is not a
// loopback name is refused.
func TestProxyLetsThisMachineIn(t *testing.T) {
	t.Parallel()
	d := bridge.NewProxy()
	d.Break("not built yet")
	for host, want := range map[string]int{"localhost:8080": 200, "127.0.0.1:1": 200, "[::1]:1": 200, "evil.example": 403, "10.0.0.1:80": 403} {
		r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`))
		r.Host = host
		w := httptest.NewRecorder()
		d.ServeHTTP(w, r)
		if w.Code != want || want == 200 && !strings.Contains(w.Body.String(), "not built yet") {
			t.Errorf("%s: HTTP %d: %s", host, w.Code, w.Body)
		}
	}
}

// TestProxyNeverBuilt checks that a client of a server that has never compiled gets the reason.
func TestProxyNeverBuilt(t *testing.T) {
	t.Parallel()
	d := bridge.NewProxy()
	d.Break("no Go")
	w := httptest.NewRecorder()
	d.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":0,"method":"initialize"}`)))
	if want := `{"jsonrpc":"2.0","id":0,"error":{"code":-32603,"message":"no Go"}}`; w.Code != http.StatusOK || w.Body.String() != want {
		t.Errorf("HTTP %d: %s, want %s", w.Code, w.Body, want)
	}
}

// TestReplacedAfterItsEnd checks that the end of a process is no news after another one has replaced it.
func TestReplacedAfterItsEnd(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.replace("one")
	s.send(`{"jsonrpc":"2.0","id":1,"method":"crash"}`)
	s.hears(`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"kagami dev: the server ended before it answered; its log shows the cause"}}`)
	for end := time.Now().Add(20 * time.Second); len(s.bridge.Gone()) == 0 && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	s.replace("two")
	if len(s.bridge.Gone()) > 0 {
		t.Error("the new process seems to have ended")
	}
}

// TestProxyReportsAFailedStartOnce checks that a process that ends before it listens is only an error of Replace.
func TestProxyReportsAFailedStartOnce(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d := bridge.NewProxy()
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), asServer+"=one") // it ends, because it has no stdin
	if err := d.Replace(t.Context(), cmd); err == nil || !strings.Contains(err.Error(), "it has ended") {
		t.Errorf("Replace: %v", err)
	}
	time.Sleep(100 * time.Millisecond)
	if len(d.Gone()) > 0 {
		t.Error("a process that never served is reported as gone")
	}
}
