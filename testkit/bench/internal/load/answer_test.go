package load_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/kagami-mcp/kagami/testkit/bench/internal/load"
)

const chunked = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\ntransfer-encoding: chunked\r\nMcp-Session-Id: abc\r\n\r\n" +
	"6\r\ndata: \r\n4;x=y\r\n{}\n\n\r\n0\r\nTrailer: t\r\n\r\n"

func TestReader(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text string
		want load.Answer
		body string
	}{
		"length":     {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", load.Answer{Status: 200}, "abc"},
		"chunks":     {chunked, load.Answer{Status: 200, SSE: true, Session: "abc"}, "data: {}\n\n"},
		"accepted":   {"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", load.Answer{Status: 202}, ""},
		"no content": {"HTTP/1.1 204 No Content\r\n\r\n", load.Answer{Status: 204}, ""},
		"to the end": {"HTTP/1.1 200 OK\r\n\r\nabc", load.Answer{Status: 200, Close: true}, "abc"},
		"closing":    {"HTTP/1.1 400 Bad Request\r\nConnection: Close\r\nContent-Length: 1\r\n\r\nx", load.Answer{Status: 400, Close: true}, "x"},
		"no reason":  {"HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", load.Answer{Status: 200}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, src := range []io.Reader{strings.NewReader(tt.text), iotest.OneByteReader(strings.NewReader(tt.text))} {
				var a load.Answer
				if err := load.NewReader(src).Read(&a); err != nil {
					t.Fatal(err)
				}
				if a.Status != tt.want.Status || a.SSE != tt.want.SSE || a.Session != tt.want.Session || a.Close != tt.want.Close || string(a.Body) != tt.body {
					t.Errorf("%+v, %q", a, a.Body)
				}
			}
		})
	}
}

// TestReaderGoesOn reads what follows on the same connection, large and small.
func TestReaderGoesOn(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 300<<10)
	one := "HTTP/1.1 200 OK\r\nContent-Length: 307200\r\n\r\n" + large
	r := load.NewReader(strings.NewReader(one + chunked + one + chunked))
	for i := range 4 {
		var a load.Answer
		if err := r.Read(&a); err != nil {
			t.Fatal(err)
		}
		if want := []string{large, "data: {}\n\n"}[i%2]; string(a.Body) != want {
			t.Fatalf("answer %d has %d bytes", i, len(a.Body))
		}
	}
	if err := r.Read(&load.Answer{}); err == nil {
		t.Error("there was one more")
	}
}

func TestReaderRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing":         "",
		"no status":       "HELLO\r\n\r\n",
		"half a header":   "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n",
		"half a body":     "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc",
		"no number":       "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"two lengths":     "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"too long":        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
		"unknown coding":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
		"a broken chunk":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n",
		"no size":         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
		"a cut chunk":     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab",
		"a bare newline":  "HTTP/1.1 200 OK\n\nContent-Length: 0\r\n\r\n",
		"a folded field":  "HTTP/1.1 200 OK\r\nX: y\r\n Content-Length: 0\r\n\r\n",
		"no field":        "HTTP/1.1 200 OK\r\nnonsense\r\n\r\n",
		"an endless head": "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 100<<10) + "\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var a load.Answer
			if err := load.NewReader(strings.NewReader(text)).Read(&a); err == nil {
				t.Errorf("%+v", a)
			}
		})
	}
}

// FuzzReader: what is read is what net/http reads, where it reads it at all.
func FuzzReader(f *testing.F) {
	for _, text := range []string{
		chunked, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 200 OK\r\n\r\nabc", "HTTP/1.1 204 No Content\r\n\r\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var a load.Answer
		if err := load.NewReader(bytes.NewReader(text)).Read(&a); err != nil {
			return
		}
		want, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(text)), nil)
		if err != nil {
			return // it is stricter
		}
		body, err := io.ReadAll(want.Body)
		_ = want.Body.Close()
		if err != nil {
			return
		}
		if want.StatusCode != a.Status || !bytes.Equal(body, a.Body) {
			t.Errorf("%d %q, net/http reads %d %q", a.Status, a.Body, want.StatusCode, body)
		}
	})
}
