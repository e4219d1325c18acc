package stdio_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/stdio"
)

func needUnix(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs sh and signals")
	}
}

// TestStdoutIsGuarded is trap 23: user code prints, its children print, and the
// client sees frames only.
func TestStdoutIsGuarded(t *testing.T) {
	t.Parallel()
	needUnix(t)
	cmd := command(t, "dirty")
	cmd.Stdin = strings.NewReader(`{"id":1}` + "\n")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	// What is printed after Serve goes to the standard output again.
	if got, want := stdout.String(), "{\"id\":1}\nrestored\n"; got != want {
		t.Errorf("stdout holds %q, want %q", got, want)
	}
	if got, want := stderr.String(), "polluted by fmt\npolluted by os.Stdout\npolluted by a child\n"; got != want {
		t.Errorf("stderr holds %q, want %q", got, want)
	}
}

// TestStreamsThatAreNil are the process's own.
func TestStreamsThatAreNil(t *testing.T) {
	t.Parallel()
	cmd := command(t, "unset")
	cmd.Stdin = strings.NewReader(`{"id":1}` + "\n")
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "{\"id\":1}\n" {
		t.Errorf("%v: %s", err, out)
	}
}

// TestNilOption checks that an option that is nil makes every function with an error return one.
func TestNilOption(t *testing.T) {
	t.Parallel()
	told := func(name string, err error) {
		if err == nil || !strings.Contains(err.Error(), "an option is nil") {
			t.Errorf("%s: %v", name, err)
		}
	}
	told("Serve", stdio.New(stdio.Streams(strings.NewReader(""), io.Discard), nil).Serve(t.Context(), nil))
	_, err := stdio.Dial(t.Context(), exec.Command("nothing"), nil)
	told("Dial", err)
	conn := stdio.NewConn(strings.NewReader("{}\n"), io.Discard, nil, nil)
	_, err = conn.Read(t.Context())
	told("Read", err)
	told("Write", conn.Write(t.Context(), []byte("{}")))
	_ = conn.Close()
}

// TestStdoutGone checks that the server ends if its client dies, and not by a signal.
func TestStdoutGone(t *testing.T) {
	t.Parallel()
	cmd := command(t, "echo")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = out.Close()
	if _, err := io.WriteString(in, "{}\n"); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil { // stdin is still open
		t.Errorf("the server ended with %v, want status 0", err)
	}
}

func TestDial(t *testing.T) {
	t.Parallel()
	conn, err := stdio.Dial(t.Context(), command(t, "echo"))
	if err != nil {
		t.Fatal(err)
	}
	for _, frame := range []string{`{"n":1}`, `{"n":"` + strings.Repeat("x", 1<<20) + `"}`} {
		if err := conn.Write(t.Context(), []byte(frame)); err != nil {
			t.Fatal(err)
		}
		if got, err := conn.Read(t.Context()); err != nil || string(got) != frame {
			t.Fatalf("Read: %.80q, %v", got, err)
		}
	}
	for range 2 {
		if err := conn.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if _, err := conn.Read(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("Read after Close: %v, want io.EOF", err)
	}
	if err := conn.Write(t.Context(), []byte("{}")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Write after Close: %v, want io.ErrClosedPipe", err)
	}
}

// TestClose walks down the steps of 2026-07-28 basic/transports/stdio "Shutdown".
func TestClose(t *testing.T) {
	t.Parallel()
	needUnix(t)
	const step = 300 * time.Millisecond
	tests := []struct {
		role    string
		ready   bool   // the server says when it can be ended
		failure string // of Close
		steps   time.Duration
	}{
		{"echo", false, "", 0},
		{"talkative", false, "", 0},
		{"fails", false, "exit status 3", 0},
		{"deaf", true, "", 1},
		{"stubborn", true, "had to be killed", 2},
	}
	for _, test := range tests {
		t.Run(test.role, func(t *testing.T) {
			t.Parallel()
			grace := step
			if test.steps == 0 {
				grace = time.Minute // they end by themselves, however slow the machine is
			}
			cmd := command(t, test.role)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			conn, err := stdio.Dial(t.Context(), cmd, stdio.Grace(grace))
			if err != nil {
				t.Fatal(err)
			}
			if test.ready {
				if _, err := conn.Read(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			start := time.Now()
			err = conn.Close()
			if (err == nil) != (test.failure == "") || err != nil && !strings.Contains(err.Error(), test.failure) {
				t.Errorf("Close: %v, want %q", err, test.failure)
			}
			if d := time.Since(start); d < test.steps*step {
				t.Errorf("Close took %v, which is less than %d steps", d, test.steps)
			}
			if cmd.ProcessState == nil {
				t.Error("the process still runs")
			}
			if test.role == "fails" && stderr.String() != "cannot go on\n" {
				t.Errorf("stderr holds %q", stderr.String())
			}
		})
	}
}

// TestServerDies: the client sees the last frames, and then the end.
func TestServerDies(t *testing.T) {
	t.Parallel()
	needUnix(t)
	conn, err := stdio.Dial(t.Context(), exec.Command("sh", "-c", `echo '{"last":1}'; exit 7`))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := conn.Read(t.Context()); err != nil || string(got) != `{"last":1}` {
		t.Errorf("Read: %q, %v", got, err)
	}
	if _, err := conn.Read(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("Read: %v, want io.EOF", err)
	}
	if err := conn.Close(); err == nil || !strings.Contains(err.Error(), "exit status 7") {
		t.Errorf("Close: %v, want exit status 7", err)
	}
}

func TestDialFails(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	set := command(t, "echo")
	set.Stdout = io.Discard
	fed := command(t, "echo")
	fed.Stdin = strings.NewReader("")
	for name, test := range map[string]struct {
		ctx context.Context
		cmd *exec.Cmd
	}{
		"no such program": {t.Context(), exec.Command("./no-such-program")},
		"ctx has ended":   {over, command(t, "echo")},
		"stdout is taken": {t.Context(), set},
		"stdin is taken":  {t.Context(), fed},
	} {
		if conn, err := stdio.Dial(test.ctx, test.cmd); err == nil {
			_ = conn.Close()
			t.Errorf("%s: no error", name)
		}
	}
}

// TestNilStreams: they are an error where they would end the program.
func TestNilStreams(t *testing.T) {
	t.Parallel()
	for name, conn := range map[string]transport.Conn{
		"in": stdio.NewConn(nil, io.Discard, nil), "out": stdio.NewConn(strings.NewReader("{}\n"), nil, nil),
	} {
		if _, err := conn.Read(t.Context()); (err == nil) != (name == "out") {
			t.Errorf("%s: Read: %v", name, err)
		}
		if err := conn.Write(context.Background(), []byte("{}")); (err == nil) != (name == "in") {
			t.Errorf("%s: Write: %v", name, err)
		}
		if err := conn.Close(); err != nil {
			t.Errorf("%s: Close: %v", name, err)
		}
	}
}

// TestConnTakesAnyLength: the largest of all bounds is one.
func TestConnTakesAnyLength(t *testing.T) {
	t.Parallel()
	conn := stdio.NewConn(strings.NewReader("{}\n"), io.Discard, nil, stdio.MaxFrame(math.MaxInt))
	defer func() { _ = conn.Close() }()
	if frame, err := conn.Read(t.Context()); err != nil || string(frame) != "{}" {
		t.Errorf("Read: %q, %v", frame, err)
	}
}

// TestConnTooLong: a frame that is too long for the client costs itself only.
func TestConnTooLong(t *testing.T) {
	t.Parallel()
	long := stdio.NewConn(strings.NewReader("0123456789A\n"), io.Discard, nil, stdio.MaxFrame(10), stdio.MaxFrame(0))
	defer func() { _ = long.Close() }()
	if _, err := long.Read(t.Context()); err != nil {
		t.Errorf("the default is selected last: %v", err)
	}
	in := strings.NewReader("{1}\n0123456789A\n{2}")
	conn := stdio.NewConn(in, io.Discard, nil, stdio.MaxFrame(10))
	defer func() { _ = conn.Close() }()
	for _, want := range []struct {
		frame string
		err   error
	}{{"{1}", nil}, {"", stdio.ErrFrameTooLong}, {"{2}", nil}, {"", io.EOF}, {"", io.EOF}} {
		if got, err := conn.Read(t.Context()); string(got) != want.frame || !errors.Is(err, want.err) {
			t.Errorf("Read: %q, %v; want %q, %v", got, err, want.frame, want.err)
		}
	}
}

// TestConnWriteEndsWithItsContext: a server that does not read delays no Write beyond its context. A
// frame that was begun arrives whole when the server reads again.
func TestConnWriteEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := ioPipe(t)
		conn := stdio.NewConn(p.clientIn, p.clientOut, nil)
		for _, frame := range []string{"begun", "waits"} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			start := time.Now()
			if err := conn.Write(ctx, []byte(frame)); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
				t.Errorf("%s, after %v: %v", frame, time.Since(start), err)
			}
			cancel()
		}
		var got []byte
		read := make(chan struct{})
		go func() {
			defer close(read)
			got, _ = io.ReadAll(p.serverIn)
		}()
		if err := conn.Write(t.Context(), []byte("next")); err != nil {
			t.Error(err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		if <-read; string(got) != "begun\nnext\n" {
			t.Errorf("the server has read %q", got)
		}
	})
}

// TestConnClosesStreams: without a function of the caller's.
func TestConnClosesStreams(t *testing.T) {
	t.Parallel()
	p := ioPipe(t)
	conn := stdio.NewConn(p.clientIn, p.clientOut, nil)
	if err := conn.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if _, err := p.serverIn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the server reads %v, want io.EOF", err)
	}
	if _, err := p.serverOut.Write([]byte("x")); err == nil {
		t.Error("the server can still write")
	}
}

// once is a stream that reports a second Close, as a socket does.
type once struct {
	io.ReadWriteCloser
	closed bool
}

func (o *once) Close() error {
	if o.closed {
		return net.ErrClosed
	}
	o.closed = true
	return o.ReadWriteCloser.Close()
}

// TestConnClosesOneStream: a socket is both streams, and its second Close is not a failure.
func TestConnClosesOneStream(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	defer func() { _ = theirs.Close() }()
	socket := &once{ReadWriteCloser: ours}
	if err := stdio.NewConn(socket, socket, nil).Close(); err != nil || !socket.closed {
		t.Errorf("Close: %v", err)
	}
}

// TestCloseAfterTheEnd: a server that has ended by itself was not killed, also without a grace period.
func TestCloseAfterTheEnd(t *testing.T) {
	t.Parallel()
	needUnix(t)
	for range 20 {
		conn, err := stdio.Dial(t.Context(), exec.Command("sh", "-c", "exit 0"), stdio.Grace(0))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(t.Context()); !errors.Is(err, io.EOF) {
			t.Errorf("Read: %v, want io.EOF", err)
		}
		time.Sleep(20 * time.Millisecond) // until Wait has returned
		if err := conn.Close(); err != nil {
			t.Fatalf("Close: %v", err)
		}
	}
}
