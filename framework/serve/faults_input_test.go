package serve_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
)

// TestHTTPLastEventID: an id leads only to what follows it, in the session and for the
// principal that it was given to, and only as long as nothing of that is gone.
func TestHTTPLastEventID(t *testing.T) {
	onFaultCarriers(t, func(t *testing.T, c faultCarrier) {
		s := serveFaults(t, c, faultLimits{auth: true})
		const alice, bob = "Authorization: Bearer alice", "Authorization: Bearer bob"
		mine, other, his := s.era(protocol.Rev20251125, alice), s.era(protocol.Rev20251125, alice), s.era(protocol.Rev20251125, bob)
		first := s.firstID(mine, alice, `{"n":3,"size":10}`)
		tag, rest, _ := strings.Cut(first, ".")
		number, _, _ := strings.Cut(rest, ".")
		get := func(e faultEra, id string, fields ...string) (int, string) {
			w := s.dial()
			defer w.close()
			w.send(faultGet(append(append(e.fields(), "Last-Event-ID: "+id), fields...)...))
			status, _, body := w.whole()
			return status, body
		}
		if status, body := get(mine, first, alice); status != http.StatusOK || strings.Count(body, "data: {") != 3 {
			t.Errorf("two reports and the answer: %d, %q", status, body)
		}
		for name, id := range map[string]string{
			"garbage": "x", "dots": "...", "empty parts": tag + "..", "negative": tag + "." + number + ".-1",
			"later than all": tag + "." + number + ".99", "no such stream": tag + ".77.1", "signs": tag + ".+" + number + ".+1",
			"beyond 64 bits": tag + "." + number + ".99999999999999999999", "long": strings.Repeat("1.", 4000),
			"percent": "%00%0d%0a", "a session's own id": mine.session, "not ASCII": "\xff\xfe",
		} {
			if status, body := get(mine, id, alice); status != http.StatusBadRequest || !strings.Contains(body, `"error"`) {
				t.Errorf("%s: %d, %.200q", name, status, body)
			}
		}
		for name, each := range map[string]struct {
			e    faultEra
			who  string
			want int
		}{
			"another session of hers": {other, alice, 400}, "his session": {his, bob, 400},
			"her session, by him": {mine, bob, 404}, "her session, by nobody": {mine, "X-Nobody: 1", 401},
		} {
			if status, body := get(each.e, first, each.who); status != each.want || strings.Contains(body, "data:") {
				t.Errorf("%s: %d, %.200q; want %d", name, status, body, each.want)
			}
		}
		if status, _ := get(mine, first+"\r\nLast-Event-ID: "+first, alice); status != http.StatusBadRequest {
			t.Errorf("twice: %d", status)
		}
		big := s.firstID(mine, alice, `{"n":150,"size":65536}`)
		if status, body := get(mine, big, alice); status != http.StatusBadRequest || strings.Contains(body, "data:") {
			t.Errorf("expired by size: %d, %.200q", status, body)
		}
		for range 70 {
			s.firstID(mine, alice, `{"n":1}`)
		}
		if status, body := get(mine, first, alice); status != http.StatusBadRequest || strings.Contains(body, "data:") {
			t.Errorf("expired by number: %d, %.200q", status, body)
		}
	})
}

// firstID makes a call and returns the id of its first report.
func (s *faultSite) firstID(e faultEra, who, args string) (id string) {
	s.t.Helper()
	w := s.dial()
	defer w.close()
	request := strings.Replace(e.call(s.next(), "count", args, true), "\r\n", "\r\n"+who+"\r\n", 1)
	w.send(request)
	for events := eventsOf(w.open()); ; {
		event, f := w.message(events)
		if id == "" {
			id = event.id
		}
		if f.Result != nil {
			return id
		}
	}
}

// TestHTTPSlowSenders: byte by byte is a request as long as it is in time.
func TestHTTPSlowSenders(t *testing.T) {
	onFaultCarriers(t, func(t *testing.T, c faultCarrier) {
		e := faultEra{revision: protocol.Rev20260728}
		patient := serveFaults(t, c, faultLimits{})
		w := patient.dial()
		for _, b := range []byte(e.add(3)) {
			w.send(string(b))
		}
		w.sum(3)
		w.close()
		const timeout = 300 * time.Millisecond
		hasty := serveFaults(t, c, faultLimits{read: timeout})
		text := e.add(4)
		began := time.Now()
		for from, piece := range map[int]int{0: 1, strings.Index(text, "\r\n\r\n") + 4: 1} {
			w := hasty.dial()
			w.send(text[:from])
			var err error
			for i := from; i < len(text) && err == nil; i += piece {
				if _, err = io.WriteString(w.conn, text[i:i+piece]); err == nil {
					time.Sleep(10 * time.Millisecond) // slower than ReadTimeout in all
				}
			}
			// What it says, if it says something, is no success.
			said, err := io.ReadAll(w.in)
			if timeout, ok := err.(net.Error); ok && timeout.Timeout() || bytes.Contains(said, []byte(" 200 ")) { //nolint:errorlint // as net returns it
				t.Errorf("from %d: %v, %q", from, err, said)
			}
			w.close()
		}
		t.Logf("two slow senders were cut within %s", time.Since(began).Round(time.Millisecond))
		if n := hasty.hub.added.Load(); n != 0 {
			t.Errorf("%d calls of slow senders were made", n)
		}
		hasty.goodWithin(timeout, e, 5)
	})
}

// TestHTTPBodies: whatever shape a body has, it is one request or refused.
func TestHTTPBodies(t *testing.T) {
	onFaultCarriers(t, func(t *testing.T, c faultCarrier) {
		s := serveFaults(t, c, faultLimits{})
		for _, revision := range []protocol.Revision{protocol.Rev20260728, protocol.Rev20251125} {
			e := s.era(revision)
			testChunked(s, e)
			testPipelined(s, e)
			testExpected(s, e)
			testRefused(s, e)
			s.good(e, 99_999)
		}
	})
}

// reshaped is a request whose body is another, under other fields.
func reshaped(text, body string, fields ...string) string {
	head, _, _ := strings.Cut(text, "\r\nContent-Length:")
	return head + "\r\n" + strings.Join(fields, "\r\n") + "\r\n\r\n" + body
}

func bodyOf(text string) string {
	_, body, _ := strings.Cut(text, "\r\n\r\n")
	return body
}

func testChunked(s *faultSite, e faultEra) {
	id := s.next()
	var b strings.Builder
	for _, each := range bodyOf(e.add(id)) {
		fmt.Fprintf(&b, "1;ext=\"x\"\r\n%c\r\n", each)
	}
	w := s.dial()
	defer w.close()
	w.send(reshaped(e.add(id), b.String()+"0\r\nX-Trailer: 1\r\n\r\n", "Transfer-Encoding: chunked", "Trailer: X-Trailer"))
	w.sum(id)
	half := s.dial()
	half.send(reshaped(e.add(s.next()), b.String(), "Transfer-Encoding: chunked"))
	before := s.hub.added.Load()
	half.close()
	s.good(e, s.next())
	if n := s.hub.added.Load() - before; n != 1 {
		s.t.Errorf("%d calls of a body without end", n-1)
	}
}

// testPipelined: one answer each, in their order. An answer that comes late takes the
// connection with it; then those before it count.
func testPipelined(s *faultSite, e faultEra) {
	for range 20 {
		w := s.dial()
		var ids []int
		var all strings.Builder
		for range 10 {
			ids = append(ids, s.next())
			all.WriteString(e.add(ids[len(ids)-1]))
		}
		w.send(all.String())
		kept := 0
		for _, id := range ids {
			if kept++; !w.keptSum(id) {
				break
			}
		}
		w.close()
		if kept == len(ids) {
			return
		}
	}
	s.t.Error("ten pipelined requests are never answered on one connection")
}

func testExpected(s *faultSite, e faultEra) {
	id := s.next()
	text := e.add(id)
	body := bodyOf(text)
	w := s.dial()
	defer w.close()
	w.send(reshaped(text, "", "Expect: 100-continue", fmt.Sprintf("Content-Length: %d", len(body))))
	if r := w.open(); r.StatusCode != http.StatusContinue {
		s.t.Fatalf("%s before the body", r.Status)
	}
	w.send(body)
	w.sum(id)
}

// testRefused: a body that will not be read is refused before it has come.
func testRefused(s *faultSite, e faultEra) {
	text := e.add(s.next())
	bomb := gzipBomb()
	for _, each := range []struct {
		name, request string
		want          int
	}{
		{"a bomb", reshaped(text, bomb, "Content-Encoding: gzip", fmt.Sprintf("Content-Length: %d", len(bomb))), 415},
		{"100 MiB, declared", reshaped(text, "", "Content-Length: 104857600"), 413},
		{"100 MiB, asked for", reshaped(text, "", "Content-Length: 104857600", "Expect: 100-continue"), 413},
		{"a chunk of 100 MiB", reshaped(text, "6400000\r\n"+strings.Repeat(" ", 5<<20), "Transfer-Encoding: chunked"), 413},
		{"a header of 64 KiB", reshaped(text, bodyOf(text), "X-Long: "+strings.Repeat("x", 64<<10), fmt.Sprintf("Content-Length: %d", len(bodyOf(text)))), 431},
		{"4,000 fields", reshaped(text, bodyOf(text), strings.Repeat("X-Many: x\r\n", 4000)+fmt.Sprintf("Content-Length: %d", len(bodyOf(text)))), 431},
	} {
		w := s.dial()
		written := make(chan struct{})
		go func() { // the server may stop reading
			defer close(written)
			_, _ = io.WriteString(w.conn, each.request)
		}()
		r := w.open()
		for r.StatusCode == http.StatusContinue {
			r = w.open()
		}
		text, _ := io.ReadAll(r.Body) // which a reset may cut off, for want of a reader of the rest
		// net/http answers what its own limits refuse by itself, in plain text.
		plain := each.want == 431 && r.Header.Get("Content-Type") == "text/plain; charset=utf-8"
		if r.StatusCode != each.want || !plain && !bytes.HasPrefix([]byte(`{"jsonrpc":"2.0","error":{"code":-32600`), text[:min(len(text), 20)]) {
			s.t.Errorf("%s: %s, %.300q; want %d", each.name, r.Status, text, each.want)
		}
		w.close()
		faultWait(s.t, "the writer", written)
	}
}

// gzipBomb is 64 MiB in 64 KiB: gzip members may follow each other.
func gzipBomb() string {
	var one bytes.Buffer
	z := gzip.NewWriter(&one)
	_, _ = io.Copy(z, io.LimitReader(zeros{}, 1<<20))
	_ = z.Close()
	return strings.Repeat(one.String(), 64)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestHTTPPanicInStream: a tool that panics when its stream has begun is an answer with
// isError to its caller and nothing to others.
func TestHTTPPanicInStream(t *testing.T) {
	onFaultCarriers(t, func(t *testing.T, c faultCarrier) {
		s := serveFaults(t, c, faultLimits{})
		for _, revision := range []protocol.Revision{protocol.Rev20260728, protocol.Rev20251125, protocol.Rev20241105} {
			e := s.era(revision)
			s.good(e, 1)
			base, _ := faultGoroutines()
			for range 20 {
				w := s.dial()
				id := s.next()
				w.send(e.call(id, "explode", `{}`, true))
				events := eventsOf(w.open())
				if _, f := w.message(events); f.Params.Progress != 1 {
					t.Errorf("%s: the first message is %+v", revision, f)
				}
				event, f := w.message(events)
				if string(f.ID) != fmt.Sprint(id) || !strings.Contains(event.data, `The tool failed. The error was logged."}],"isError":true`) || strings.Contains(event.data, "scripted") {
					t.Errorf("%s: the answer is %s", revision, event.data)
				}
				if event, err := events.next(); err != io.EOF { //nolint:errorlint // of Read itself
					t.Errorf("%s: after the answer: %+v, %v", revision, event, err)
				}
				w.close()
				s.good(e, s.next())
			}
			faultSettle(t, base)
		}
	})
}
