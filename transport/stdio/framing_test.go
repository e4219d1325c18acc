package stdio_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/stdio"
)

// collect is a host that keeps what it is given and answers nothing.
type collect struct{ frames []string }

func (c *collect) Accept(_ context.Context, frame []byte) (transport.Exchange, error) {
	c.frames = append(c.frames, string(frame))
	return exchange{serve: func(context.Context, []byte, transport.Outbound) error { return nil }}, nil
}

// accepted is what a host gets of in, and what is answered.
func accepted(t testing.TB, in io.Reader, opts ...stdio.Option) (frames []string, answers string) {
	t.Helper()
	var host collect
	var out bytes.Buffer
	if err := stdio.New(append(opts, stdio.Streams(in, &out))...).Serve(t.Context(), &host); err != nil {
		t.Fatalf("Serve: %v", err)
	}
	return host.frames, out.String()
}

const tooLong10 = `{"jsonrpc":"2.0","error":{"code":-32600,"message":"frame exceeds 10 bytes"}}` + "\n"

func TestFraming(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200_000)
	tests := []struct {
		name, in string
		frames   []string
		answers  string
	}{
		{"nothing", "", nil, ""},
		{"lines", "{1}\n{2}\n", []string{"{1}", "{2}"}, ""},
		{"CRLF", "{1}\r\n{2}\r\n", []string{"{1}", "{2}"}, ""},
		{"a CR in a line stays", "{\r1}\n", []string{"{\r1}"}, ""},
		{"one CR is trimmed", "{1}\r\r\n", []string{"{1}\r"}, ""},
		{"empty lines", "\n\r\n\n{1}\n\n{2}\n\n", []string{"{1}", "{2}"}, ""},
		{"no end of line", "{1}\n{2}", []string{"{1}", "{2}"}, ""},
		{"a byte order mark is not ours to drop", "\ufeff{1}\n", []string{"\ufeff{1}"}, ""},
		{"a byte order mark as a line of its own", "\ufeff\n\ufeff\r\n{1}\n\ufeff", []string{"{1}"}, ""},
		{"no text", "\x00\xff\n", []string{"\x00\xff"}, ""},
		{"as long as may be", "0123456789\n0123456789\r\n0123456789", []string{"0123456789", "0123456789", "0123456789"}, ""},
		{"one byte more", "0123456789A\n{1}\n", []string{"{1}"}, tooLong10},
		{"one byte more with CRLF", "0123456789A\r\n{1}\n", []string{"{1}"}, tooLong10},
		{"two bytes more", "0123456789AB\n{1}\n", []string{"{1}"}, tooLong10},
		{"longer than every buffer", "{1}\n" + long + "\n{2}\n", []string{"{1}", "{2}"}, tooLong10},
		{"long to the end", "{1}\n" + long, []string{"{1}"}, tooLong10},
		{"one answer each", long + "\n" + long + "\n", nil, tooLong10 + tooLong10},
	}
	readers := map[string]func(io.Reader) io.Reader{
		"whole":           func(r io.Reader) io.Reader { return r },
		"byte by byte":    iotest.OneByteReader,
		"EOF with data":   iotest.DataErrReader,
		"half the buffer": iotest.HalfReader,
	}
	for _, test := range tests {
		for how, reader := range readers {
			t.Run(test.name+"/"+how, func(t *testing.T) {
				t.Parallel()
				frames, answers := accepted(t, reader(strings.NewReader(test.in)), stdio.MaxFrame(10))
				if !slices.Equal(frames, test.frames) {
					t.Errorf("frames %.200q, want %.200q", frames, test.frames)
				}
				if answers != test.answers {
					t.Errorf("answers %q, want %q", answers, test.answers)
				}
			})
		}
	}
}

// TestLongLineIsNotHeld reads a line of 256 MiB. Not parallel: it counts what is
// allocated.
func TestLongLineIsNotHeld(t *testing.T) {
	endless := io.LimitReader(same('x'), 256<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, answers := accepted(t, io.MultiReader(endless, strings.NewReader("\n")), stdio.MaxFrame(1<<20))
	runtime.ReadMemStats(&after)
	if !strings.Contains(answers, "frame exceeds 1048576 bytes") {
		t.Errorf("answers %q", answers)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 16<<20 {
		t.Errorf("%d bytes were allocated to skip a line", grown)
	}
}

type same byte

func (s same) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(s)
	}
	return len(p), nil
}

// FuzzFraming compares with the plain way of cutting lines.
func FuzzFraming(f *testing.F) {
	for _, seed := range []string{"", "{1}\r\n\n{2}", "\r\n\r", "0123456789abcdef\nx", "0123456789\r\n"} {
		f.Add([]byte(seed), uint64(1))
	}
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		const limit = 10
		var want []string
		long := 0
		for line := range bytes.SplitSeq(in, []byte("\n")) {
			line = bytes.TrimSuffix(line, []byte("\r"))
			switch {
			case len(line) > limit:
				long++
			case len(line) > 0:
				want = append(want, string(line))
			}
		}
		frames, answers := accepted(t, chunks{bytes.NewReader(in), rand.New(rand.NewPCG(seed, 0))}, stdio.MaxFrame(limit))
		if !slices.Equal(frames, want) {
			t.Errorf("frames %q, want %q", frames, want)
		}
		if n := strings.Count(answers, "\n"); n != long {
			t.Errorf("%d answers for %d long lines", n, long)
		}
	})
}

// chunks gives as many bytes at a time as chance will have it.
type chunks struct {
	io.Reader
	*rand.Rand
}

func (c chunks) Read(p []byte) (int, error) { return c.Reader.Read(p[:min(len(p), 1+c.IntN(12))]) }

// writes keeps each Write apart.
type writes struct {
	mu  sync.Mutex
	all []string
}

func (w *writes) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, string(p))
	return len(p), nil
}

// TestOneWriteOneLine: whole lines, and no line break in them, whatever is sent.
func TestOneWriteOneLine(t *testing.T) {
	t.Parallel()
	tests := []struct{ sent, want string }{
		{`{"a":1}`, `{"a":1}`},
		{"{\n  \"a\": 1\r\n}\n", `{   "a": 1  } `},
		{"\n", " "},
		{strings.Repeat("ab\n", 50_000), strings.Repeat("ab ", 50_000)},
		{`{"after":"a long one"}`, `{"after":"a long one"}`},
	}
	for _, test := range tests {
		var out writes
		host := hostFunc(func(ctx context.Context, _ []byte, o transport.Outbound) error {
			sent := []byte(test.sent)
			err := o.Send(ctx, transport.Frame{JSON: sent})
			if string(sent) != test.sent {
				t.Errorf("Send changed the caller's bytes to %.80q", sent)
			}
			return err
		})
		if err := stdio.New(stdio.Streams(strings.NewReader("{}\n"), &out)).Serve(t.Context(), host); err != nil {
			t.Errorf("Serve: %v", err)
		}
		if want := []string{test.want + "\n"}; !slices.Equal(out.all, want) {
			t.Errorf("wrote %.80q, want %.80q", out.all, want)
		}
	}
}

func TestEmptyFrameIsNotSent(t *testing.T) {
	t.Parallel()
	var out writes
	host := hostFunc(func(ctx context.Context, _ []byte, o transport.Outbound) error {
		if o.Send(ctx, transport.Frame{}) == nil {
			t.Error("an empty frame was sent")
		}
		return nil
	})
	if err := stdio.New(stdio.Streams(strings.NewReader("{}\n"), &out)).Serve(t.Context(), host); err != nil {
		t.Errorf("Serve: %v", err)
	}
	if len(out.all) != 0 {
		t.Errorf("wrote %q", out.all)
	}
}

func BenchmarkServe(b *testing.B) {
	frame := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2}}}` + "\n")
	for _, size := range []int{len(frame), 256 << 10} {
		line := frame
		if size > len(frame) {
			line = append(bytes.Repeat([]byte("x"), size-1), '\n')
		}
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			in := &repeated{line: line, left: b.N}
			b.ResetTimer()
			if err := stdio.New(stdio.Streams(in, io.Discard)).Serve(b.Context(), hostFunc(echo)); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// repeated is the same line again and again.
type repeated struct {
	line []byte
	at   int
	left int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) && r.left > 0 {
		m := copy(p[n:], r.line[r.at:])
		n += m
		if r.at += m; r.at == len(r.line) {
			r.at, r.left = 0, r.left-1
		}
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}
