package interop_test

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// web is the HTTP transport of a Go client. It records the exchanges, and breaks off a stream after
// cut events.
type web struct {
	base *http.Transport

	mu        sync.Mutex
	exchanges []exchange
	cut       int // events to let pass of the next stream that answers a POST; 0: all
}

// exchange is one request and its answer.
type exchange struct {
	method, session, lastEvent string
	status                     int
}

func newWeb(t *testing.T) *web {
	t.Helper()
	w := &web{base: &http.Transport{}}
	t.Cleanup(w.base.CloseIdleConnections)
	return w
}

func (w *web) client() *http.Client { return &http.Client{Transport: w} }

// RoundTrip is for http.Client.
func (w *web) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := w.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.exchanges = append(w.exchanges, exchange{
		method: r.Method, session: r.Header.Get("Mcp-Session-Id"), lastEvent: r.Header.Get("Last-Event-Id"), status: answer.StatusCode,
	})
	media, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if w.cut > 0 && r.Method == http.MethodPost && media == "text/event-stream" {
		answer.Body = &cutBody{ReadCloser: answer.Body, left: w.cut}
		w.cut = 0
	}
	return answer, nil
}

// cutNext breaks off the next stream that answers a POST, after some events.
func (w *web) cutNext(events int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = events
}

// count says how many exchanges fit.
func (w *web) count(fits func(exchange) bool) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, e := range w.exchanges {
		if fits(e) {
			n++
		}
	}
	return n
}

func resumed(e exchange) bool { return e.lastEvent != "" && e.status == http.StatusOK }

// ended checks, after the client's end, that there was a session and is no more.
func (w *web) ended(t *testing.T, url string) {
	t.Helper()
	id := ""
	deletes := w.count(func(e exchange) bool {
		if e.method == http.MethodDelete {
			id = e.session
		}
		return e.method == http.MethodDelete && e.status/100 == 2
	})
	if deletes != 1 || id == "" {
		t.Errorf("%d DELETEs succeeded, of session %q", deletes, id)
		return
	}
	ping := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, ping)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Session-Id": id,
	} {
		r.Header.Set(name, value)
	}
	answer, err := w.base.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusNotFound {
		t.Errorf("the ended session answers with status %d", answer.StatusCode)
	}
}

// cutBody ends after some events like a connection that breaks.
type cutBody struct {
	io.ReadCloser
	left  int
	ready bytes.Buffer
}

func (b *cutBody) Read(p []byte) (int, error) {
	for b.ready.Len() == 0 {
		if b.left == 0 {
			_ = b.Close()
			return 0, io.ErrUnexpectedEOF
		}
		chunk := make([]byte, 512)
		n, err := b.ReadCloser.Read(chunk)
		b.take(chunk[:n])
		if n == 0 && err != nil {
			return 0, err
		}
	}
	return b.ready.Read(p)
}

// take keeps what belongs to events that may pass. The empty line after an event
// may come in two chunks; then one event more passes.
func (b *cutBody) take(chunk []byte) {
	for b.left > 0 && len(chunk) > 0 {
		event, rest, whole := bytes.Cut(chunk, []byte("\n\n"))
		b.ready.Write(event)
		if whole {
			b.ready.WriteString("\n\n")
			b.left--
		}
		chunk = rest
	}
}
