package sse_test

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/kagami-mcp/kagami/protocol/client/internal/sse"
)

// all reads a stream to its end: events as text.
func all(in io.Reader, limit int) (events []string, retry time.Duration, err error) {
	r := sse.NewReader(in, limit)
	for {
		e, err := r.Next()
		if err != nil {
			retry, _ = r.Retry()
			return events, retry, err
		}
		events = append(events, fmt.Sprintf("%s/%s/%s", e.Type, e.ID, e.Data))
	}
}

func TestReader(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		in    string
		want  []string
		retry time.Duration
	}{
		"empty":               {in: ""},
		"one":                 {in: "data: a\n\n", want: []string{"message//a"}},
		"no space":            {in: "data:a\n\n", want: []string{"message//a"}},
		"two spaces":          {in: "data:  a\n\n", want: []string{"message// a"}},
		"lines":               {in: "data: a\ndata: b\ndata\ndata: c\n\n", want: []string{"message//a\nb\n\nc"}},
		"CR LF":               {in: "data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", want: []string{"message//a\nb", "message//c"}},
		"CR":                  {in: "data: a\rdata: b\r\rdata: c\r\r", want: []string{"message//a\nb", "message//c"}},
		"mixed ends":          {in: "data: a\r\ndata: b\n\rdata: c\r\n\n", want: []string{"message//a\nb", "message//c"}},
		"type":                {in: "event: endpoint\ndata: /x\n\ndata: y\n\n", want: []string{"endpoint//" + "/x", "message//y"}},
		"empty type":          {in: "event:\ndata: y\n\n", want: []string{"message//y"}},
		"comments":            {in: ": hello\n\n:\ndata: a\n: b\n\n", want: []string{"message//a"}},
		"id stays":            {in: "id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", want: []string{"message/1/a", "message/1/b", "message//c"}},
		"id with NUL":         {in: "id: 1\ndata: a\n\nid: 2\x00\ndata: b\n\n", want: []string{"message/1/a", "message/1/b"}},
		"priming":             {in: "id: 1\ndata:\n\nid: 2\n\n", want: []string{"message/1/", "message/2/"}},
		"retry":               {in: "retry: 500\n\n", want: []string{"message//"}, retry: 500 * time.Millisecond},
		"retry, no event":     {in: "retry: 20", retry: 0},
		"retry, cut":          {in: "retry: 20\ndata: x", retry: 20 * time.Millisecond},
		"retry, no number":    {in: "retry: 7\nretry: -5\nretry: 1.5\nretry:\n\n", want: []string{"message//"}, retry: 7 * time.Millisecond},
		"retry, huge":         {in: "retry: " + strings.Repeat("9", 400) + "\n\n", want: []string{"message//"}, retry: 24 * time.Hour},
		"unknown field":       {in: "x: 1\ndata: a\nDATA: b\n\n", want: []string{"message//a"}},
		"mark":                {in: "\ufeffdata: a\n\n\ufeffdata: b\n\n", want: []string{"message//a", "message//"}},
		"cut off":             {in: "data: a\n\nid: 9\ndata: b\n", want: []string{"message//a"}},
		"cut off in the line": {in: "data: a\n\ndata: b", want: []string{"message//a"}},
		"colon in the value":  {in: "data: {\"a\":1}\n\n", want: []string{`message//{"a":1}`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for how, in := range map[string]io.Reader{
				"at once": strings.NewReader(tt.in), "by bytes": iotest.OneByteReader(strings.NewReader(tt.in)),
			} {
				got, retry, err := all(in, 1<<20)
				if !slices.Equal(got, tt.want) || retry != tt.retry || !errors.Is(err, io.EOF) {
					t.Errorf("%s: %q, retry %v, %v; want %q, %v", how, got, retry, err, tt.want, tt.retry)
				}
			}
		})
	}
}

// An event must be handed out before anything follows it: the next may be minutes away.
func TestReaderDoesNotWaitForMore(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"data: a\n\n", "data: a\r\r", "data: a\r\n\r", "data: a\r\n\r\n", "\ufeffdata: a\n\n"} {
		in, out := io.Pipe()
		go func() { _, _ = io.WriteString(out, text) }()
		r := sse.NewReader(in, 100)
		if e, err := r.Next(); err != nil || string(e.Data) != "a" {
			t.Errorf("%q: %q, %v", text, e.Data, err)
		}
		_ = in.Close()
	}
}

func TestReaderLimits(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		in  string
		err error
	}{
		"at the limit":   {"data: 3456789\n\n", io.EOF},
		"a long line":    {"data: 345678901234567890", sse.ErrTooLong},
		"many lines":     {"data: 1\ndata: 2\ndata: 3\n\n", sse.ErrTooLong},
		"endless remark": {strings.Repeat(":", 1000), sse.ErrTooLong},
		"many events":    {strings.Repeat("data: 1\n\n", 100), io.EOF},
		"many remarks":   {strings.Repeat(": 1\n\n", 100), io.EOF},
		"a broken pipe":  {"", io.ErrClosedPipe},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var in io.Reader = strings.NewReader(tt.in)
			if tt.in == "" {
				in = iotest.ErrReader(tt.err)
			}
			if _, _, err := all(in, 15); !errors.Is(err, tt.err) {
				t.Errorf("error %v, want %v", err, tt.err)
			}
		})
	}
}

func FuzzReader(f *testing.F) {
	f.Add("id: 1\nevent: x\ndata: a\r\ndata: b\r\rretry: 5\n\n: c\n\n")
	f.Add("\ufeffdata: a\n\ndata")
	f.Fuzz(func(t *testing.T, in string) {
		want, retry, err := all(strings.NewReader(in), 1<<10)
		got, again, errAgain := all(iotest.OneByteReader(strings.NewReader(in)), 1<<10)
		if !errors.Is(errAgain, err) {
			t.Fatalf("%v at once, %v by bytes", err, errAgain)
		}
		if !slices.Equal(got, want) || retry != again {
			t.Fatalf("%q at once, %q by bytes", want, got)
		}
		for cut := range min(len(in), 200) { // what is cut off never changes what came before
			if part, _, _ := all(strings.NewReader(in[:cut]), 1<<10); len(part) > len(want) || !slices.Equal(part, want[:len(part)]) {
				t.Fatalf("cut at %d: %q, whole %q", cut, part, want)
			}
		}
	})
}

// TestLongLinesAreNotKept: while a Reader waits, it does not keep the memory of a long event.
func TestLongLinesAreNotKept(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	in, out := io.Pipe()
	r := sse.NewReader(in, 64<<20)
	go func() { _, _ = io.WriteString(out, "data: "+strings.Repeat("x", 16<<20)+"\n\n:waits\n") }()
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { _, err := r.Next(); ended <- err }()
	_, _ = io.WriteString(out, ":and waits\n") // returns when Next has read it
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > 12<<20 {
		t.Errorf("%d bytes are held", m.HeapAlloc)
	}
	_ = out.Close()
	if err := <-ended; !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	runtime.KeepAlive(r)
}
