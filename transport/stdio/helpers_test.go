package stdio_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/stdio"
)

// childEnv makes the test binary a server, for those tests that need a process.
const childEnv = "STDIO_TEST_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(childEnv); role != "" {
		os.Exit(child(role))
	}
	goleak.VerifyTestMain(m)
}

func command(t testing.TB, role string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childEnv+"="+role)
	return cmd
}

func child(role string) int {
	ctx := context.Background()
	switch role {
	case "bare":
		return exitCode(bare(os.Stdin, os.Stdout))
	case "dirty":
		return exitCode(dirty(ctx))
	case "unset":
		return exitCode(stdio.New(stdio.Streams(nil, nil)).Serve(ctx, hostFunc(echo)))
	case "fails":
		_, _ = io.Copy(io.Discard, os.Stdin)
		fmt.Fprintln(os.Stderr, "cannot go on")
		return 3
	case "deaf": // ends by SIGTERM only
		fmt.Println(`{"ready":true}`)
		time.Sleep(time.Minute)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println(`{"ready":true}`)
		time.Sleep(time.Minute)
	case "talkative": // has much to say after the end of its input
		_, _ = io.Copy(io.Discard, os.Stdin)
		for range 20_000 {
			if _, err := fmt.Println(`{"farewell":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}`); err != nil {
				return 4
			}
		}
	default:
		return exitCode(stdio.New().Serve(ctx, hostFunc(echo)))
	}
	return 0
}

// bare answers each line with itself, in one goroutine, and writes when nothing is left
// to read: what no carrier is better than.
func bare(in io.Reader, out io.Writer) error {
	r, w := bufio.NewReaderSize(in, 32<<10), bufio.NewWriterSize(out, 32<<10)
	for {
		if r.Buffered() == 0 {
			if err := w.Flush(); err != nil {
				return err
			}
		}
		line, err := r.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return w.Flush()
		}
		if err != nil {
			return err
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
}

// dirty does to the standard output whatever user code may do to it.
func dirty(ctx context.Context) error {
	err := stdio.New().Serve(ctx, hostFunc(func(ctx context.Context, frame []byte, out transport.Outbound) error {
		fmt.Println("polluted by fmt")
		if _, err := os.Stdout.WriteString("polluted by os.Stdout\n"); err != nil {
			return err
		}
		cmd := exec.Command("sh", "-c", "echo polluted by a child")
		cmd.Stdout = os.Stdout
		if err := cmd.Run(); err != nil {
			return err
		}
		return out.Send(ctx, transport.Frame{JSON: frame})
	}))
	fmt.Println("restored")
	return err
}

func exitCode(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// hostFunc is a host whose exchanges are one function.
type hostFunc func(ctx context.Context, frame []byte, out transport.Outbound) error

func (h hostFunc) Accept(_ context.Context, frame []byte) (transport.Exchange, error) {
	return exchange{h, frame}, nil
}

type exchange struct {
	serve hostFunc
	frame []byte
}

func (x exchange) Serve(ctx context.Context, out transport.Outbound) error {
	return x.serve(ctx, x.frame, out)
}

func echo(ctx context.Context, frame []byte, out transport.Outbound) error {
	return out.Send(ctx, transport.Frame{JSON: frame})
}

// pipe is two streams between a client and a server.
type pipe struct {
	serverIn    io.Reader
	serverOut   io.Writer
	clientIn    io.Reader
	clientOut   io.Writer
	closeServer func()
}

func ioPipe(testing.TB) pipe {
	sr, cw := io.Pipe()
	cr, sw := io.Pipe()
	return pipe{sr, sw, cr, cw, func() { _, _ = sr.Close(), sw.Close() }}
}

func osPipe(t testing.TB) pipe {
	sr, cw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cr, sw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return pipe{sr, sw, cr, cw, func() { _, _ = sr.Close(), sw.Close() }}
}

func netPipe(testing.TB) pipe {
	s, c := net.Pipe()
	return pipe{s, s, c, c, func() { _ = s.Close() }}
}
