package bridge

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
)

// TestPour checks that events are passed on whole, wherever the reads of the process's answer end.
func TestPour(t *testing.T) {
	t.Parallel()
	const events = ": begins\r\n\r\nid: 1\r\ndata: 1\r\n\r\ndata: 2\n\ndata: 3\r\n\r\n"
	w := httptest.NewRecorder()
	s := &stream{w: w, control: http.NewResponseController(w)}
	s.pour(iotest.OneByteReader(strings.NewReader(events+"data: half")), false)
	if w.Body.String() != events || s.last != "1" {
		t.Errorf("%q, %q", w.Body, s.last)
	}
}
