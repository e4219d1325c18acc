package serve_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
)

// faultWire is one connection on which a test writes what no client would.
type faultWire struct {
	t    testing.TB
	conn *net.TCPConn
	in   *bufio.Reader
}

func (s *faultSite) dial() *faultWire { return dialFault(s.t, s.addr) }

func dialFault(t testing.TB, addr string) *faultWire {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, faultPatience)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(faultPatience))
	return &faultWire{t: t, conn: conn.(*net.TCPConn), in: bufio.NewReaderSize(conn, 1024)}
}

func (w *faultWire) close() { _ = w.conn.Close() }

// leave breaks the connection off.
func (w *faultWire) leave(reset bool) {
	if reset {
		_ = w.conn.SetLinger(0)
	}
	w.close()
}

func (w *faultWire) send(text string) {
	w.t.Helper()
	if _, err := io.WriteString(w.conn, text); err != nil {
		w.t.Fatalf("writing: %v", err)
	}
}

// open reads a header.
func (w *faultWire) open() *http.Response {
	w.t.Helper()
	response, err := http.ReadResponse(w.in, nil)
	if err != nil {
		w.t.Fatalf("reading the header: %v", err)
	}
	return response
}

// whole reads a response to its end.
func (w *faultWire) whole() (status int, header http.Header, body string) {
	w.t.Helper()
	response := w.open()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatalf("reading the body after %q: %v", text, err)
	}
	return response.StatusCode, response.Header, string(text)
}

// faultEvent is one of a stream.
type faultEvent struct{ id, data string }

// faultEvents reads a stream event by event; comments are left out.
type faultEvents struct{ in *bufio.Reader }

func (e faultEvents) next() (faultEvent, error) {
	var event faultEvent
	for some := false; ; {
		line, err := e.in.ReadString('\n')
		if err != nil {
			return event, err
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "id":
			event.id, some = value, true
		case "data":
			event.data, some = value, true
		case "":
			if some {
				return event, nil
			}
		}
	}
}

func eventsOf(response *http.Response) faultEvents {
	return faultEvents{bufio.NewReaderSize(response.Body, 1024)}
}

// faultFrame is what the tests look at in a message.
type faultFrame struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Progress int `json:"progress"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func (w *faultWire) frame(e faultEvent) faultFrame {
	w.t.Helper()
	var f faultFrame
	if e.data == "" {
		return f
	}
	if err := json.Unmarshal([]byte(e.data), &f); err != nil {
		w.t.Fatalf("event %q: %v", e, err)
	}
	return f
}

// full is the next one with data.
func (e faultEvents) full() (faultEvent, error) {
	for {
		if event, err := e.next(); err != nil || event.data != "" {
			return event, err
		}
	}
}

// message reads a stream up to its next event with data.
func (w *faultWire) message(events faultEvents) (faultEvent, faultFrame) {
	w.t.Helper()
	e, err := events.full()
	if err != nil {
		w.t.Fatalf("reading the stream: %v", err)
	}
	return e, w.frame(e)
}

// faultPost is a POST of a body; fields come last.
func faultPost(body string, fields ...string) string {
	return faultHead("POST", append(fields, "Content-Type: application/json", fmt.Sprintf("Content-Length: %d", len(body)))...) + body
}

func faultGet(fields ...string) string { return faultHead("GET", fields...) }

func faultHead(method string, fields ...string) string {
	var b strings.Builder
	b.WriteString(method + " /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\n")
	for _, f := range fields {
		b.WriteString(f + "\r\n")
	}
	return b.String() + "\r\n"
}

// faultEra is how a client of one revision calls.
type faultEra struct {
	revision protocol.Revision
	session  string
}

func (e faultEra) modern() bool { return e.revision == protocol.Rev20260728 }

// fields go with each request.
func (e faultEra) fields() []string {
	fields := []string{"MCP-Protocol-Version: " + e.revision.String()}
	if e.session != "" {
		fields = append(fields, "Mcp-Session-Id: "+e.session)
	}
	return fields
}

const faultMeta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`

// request is one of method; params is an object without its braces.
func (e faultEra) request(id int, method, name, params string, token bool) string {
	var meta []string
	if e.modern() {
		meta = append(meta, faultMeta)
	}
	if token {
		meta = append(meta, fmt.Sprintf(`"progressToken":%d`, id))
	}
	if params != "" {
		params += ","
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s"_meta":{%s}}}`, id, method, params, strings.Join(meta, ","))
	fields := e.fields()
	if e.modern() {
		fields = append(fields, "Mcp-Method: "+method)
		if name != "" {
			fields = append(fields, "Mcp-Name: "+name)
		}
	}
	return faultPost(body, fields...)
}

// call is a tools/call; with a token progress is reported.
func (e faultEra) call(id int, tool, args string, token bool) string {
	return e.request(id, "tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":%s`, tool, args), token)
}

func (e faultEra) add(id int) string {
	return e.call(id, "add", fmt.Sprintf(`{"a":%d,"b":1}`, id), false)
}

// era makes a client of that revision, with a session where it has them.
func (s *faultSite) era(revision protocol.Revision, fields ...string) faultEra {
	s.t.Helper()
	e := faultEra{revision: revision}
	if e.modern() {
		return e
	}
	w := s.dial()
	w.send(faultPost(fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, revision.String()), fields...))
	status, header, body := w.whole()
	e.session = header.Get("Mcp-Session-Id")
	if status != http.StatusOK || e.session == "" {
		s.t.Fatalf("initialize: %d, %q", status, body)
	}
	w.close() // which an answer that comes late has done already
	w = s.dial()
	defer w.close()
	w.send(faultPost(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, append(fields, e.fields()...)...))
	if status, _, body := w.whole(); status != http.StatusAccepted {
		s.t.Fatalf("initialized: %d, %q", status, body)
	}
	return e
}

// done ends the session.
func (s *faultSite) done(e faultEra) {
	s.t.Helper()
	if e.session == "" {
		return
	}
	w := s.dial()
	defer w.close()
	w.send(faultHead("DELETE", e.fields()...))
	if status, _, body := w.whole(); status != http.StatusNoContent {
		s.t.Errorf("DELETE: %d, %q", status, body)
	}
}

// good asks what must be answered, on a connection of its own.
func (s *faultSite) good(e faultEra, id int) {
	s.t.Helper()
	if err := s.ask(e, id); err != nil {
		s.t.Fatal(err)
	}
}

// goodWithin is good where the server has a timeout, which counts while the machine stands
// still: what took as long is asked again.
func (s *faultSite) goodWithin(timeout time.Duration, e faultEra, id int) {
	s.t.Helper()
	for late := time.Now().Add(faultPatience); ; {
		began := time.Now()
		switch err := s.ask(e, id); {
		case err == nil:
			return
		case time.Since(began) < timeout || began.After(late):
			s.t.Fatal(err)
		}
	}
}

func (s *faultSite) ask(e faultEra, id int) error {
	w := s.dial()
	defer w.close()
	if _, err := io.WriteString(w.conn, e.add(id)); err != nil {
		return err
	}
	return w.answersSum(id)
}

// sum reads the answer to add, which a slow machine makes a stream.
func (w *faultWire) sum(id int) {
	w.t.Helper()
	if err := w.answersSum(id); err != nil {
		w.t.Fatal(err)
	}
}

func (w *faultWire) answersSum(id int) error {
	response, err := http.ReadResponse(w.in, nil)
	if err != nil {
		return fmt.Errorf("reading the header: %w", err)
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("reading the body after %q: %w", text, err)
	}
	body := strings.ReplaceAll(string(text), "\\", "") // before 2025-06-18 it is in a text
	if want := fmt.Sprintf(`"sum":%d`, id+1); response.StatusCode != http.StatusOK || !strings.Contains(body, want) || !strings.Contains(body, fmt.Sprintf(`"id":%d,`, id)) {
		return fmt.Errorf("the answer to %d: %s, %q", id, response.Status, body)
	}
	return nil
}
