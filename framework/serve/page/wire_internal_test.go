package page

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/protocol/client"
)

// TestOpenRequestsKeepNoText: a request without an answer does not keep the text of a frame that the
// list has dropped.
func TestOpenRequestsKeepNoText(t *testing.T) {
	t.Parallel()
	w := newWire(func(int) {})
	defer w.close()
	for i := range 100 {
		w.add(t.Context(), 1, client.Frame{Text: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"x","params":{"a":"%s"}}`, i, strings.Repeat("a", 1<<20))}, func(b []byte) []byte { return b })
	}
	held := 0
	for _, f := range w.open {
		held += len(f.text)
	}
	if held > maxFrameBytes {
		t.Errorf("%d bytes are held", held)
	}
}

// TestOrdinaryHeaders: fields that only speak of credentials, or of a model's tokens, are shown.
func TestOrdinaryHeaders(t *testing.T) {
	t.Parallel()
	got := (&recorder{}).hide(http.Header{"Access-Control-Allow-Credentials": {"true"}, "X-Ratelimit-Remaining-Tokens": {"7"}, "X-Session-Token": {"x"}, "Cookie": {"x"}})
	for name, want := range map[string]string{"Access-Control-Allow-Credentials": "true", "X-Ratelimit-Remaining-Tokens": "7", "X-Session-Token": "•••", "Cookie": "•••"} {
		if got.Get(name) != want {
			t.Errorf("%s is shown as %q", name, got.Get(name))
		}
	}
}

// TestExchange: the comparison gets the last request of a method on its connection, and its answer. The
// answer may have neither a result nor an error.
func TestExchange(t *testing.T) {
	t.Parallel()
	w := newWire(func(int) {})
	defer w.close()
	const ask, malformed = `{"id":2,"method":"tools/call"}`, `{"id":2}`
	for _, f := range []struct {
		session int
		sent    bool
		text    string
	}{
		{1, true, `{"id":1,"method":"tools/call"}`},
		{1, false, `{"id":1,"result":{}}`},
		{1, true, ask},
		{2, true, ask},
		{1, false, malformed},
		{1, false, ask},
		{1, false, `{"method":"notifications/message"}`},
		{1, true, malformed},
		{2, false, `{"id":2,"result":{}}`},
	} {
		w.add(t.Context(), f.session, client.Frame{Sent: f.sent, Text: []byte(f.text)}, func(text []byte) []byte { return text })
	}
	out, in, frames := w.exchange(1, "tools/call")
	if string(out) != ask || string(in) != malformed || frames != 7 {
		t.Errorf("out %s, in %s, %d frames", out, in, frames)
	}
}
