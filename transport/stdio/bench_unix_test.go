//go:build unix

package stdio_test

import (
	"bytes"
	"io"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kagami-mcp/kagami/transport/stdio"
)

const benchFrame = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2}}}`

// blockingPipe is what a process gets as its standard streams: files whose Read blocks
// in the system, and not in the poller.
func blockingPipe(tb testing.TB) (r, w *os.File) {
	tb.Helper()
	var fds [2]int
	if err := unix.Pipe(fds[:]); err != nil {
		tb.Fatal(err)
	}
	for _, fd := range fds {
		unix.CloseOnExec(fd)
	}
	return os.NewFile(uintptr(fds[0]), "r"), os.NewFile(uintptr(fds[1]), "w")
}

// BenchmarkEcho measures round trips of many frames at once, through this package and through a
// bare loop. Both run in this process, and with a child process as in production. The CPU time
// includes both sides, or only the client.
func BenchmarkEcho(b *testing.B) {
	depths := []struct {
		name   string
		frames int
	}{{"1", 1}, {"64", 64}}
	for _, depth := range depths {
		for _, server := range []struct {
			name  string
			start func(b *testing.B, in, out *os.File) (wait func() error)
		}{
			{"bare", func(_ *testing.B, in, out *os.File) func() error {
				return background(func() error { return bare(in, out) })
			}},
			{"stdio", func(b *testing.B, in, out *os.File) func() error {
				host := &constant{[]byte(benchFrame)}
				return background(func() error { return stdio.New(stdio.Streams(in, out)).Serve(b.Context(), host) })
			}},
			{"bare process", childOf("bare")},
			{"stdio process", childOf("echo")},
		} {
			b.Run(server.name+"/"+depth.name, func(b *testing.B) {
				serverIn, out := blockingPipe(b)
				in, serverOut := blockingPipe(b)
				wait := server.start(b, serverIn, serverOut)
				roundTrips(b, depth.frames, in, out)
				_ = out.Close()
				if err := wait(); err != nil {
					b.Error(err)
				}
				for _, f := range []*os.File{serverIn, in, serverOut} {
					_ = f.Close()
				}
			})
		}
	}
}

func background(serve func() error) (wait func() error) {
	served := make(chan error, 1)
	go func() { served <- serve() }()
	return func() error { return <-served }
}

func childOf(role string) func(b *testing.B, in, out *os.File) func() error {
	return func(b *testing.B, in, out *os.File) func() error {
		cmd := command(b, role)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, os.Stderr
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		return cmd.Wait
	}
}

func roundTrips(b *testing.B, depth int, in io.Reader, out io.Writer) {
	request := bytes.Repeat([]byte(benchFrame+"\n"), depth)
	answer := make([]byte, len(request))
	trip := func() {
		if _, err := out.Write(request); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(in, answer); err != nil {
			b.Fatal(err)
		}
	}
	for range 100 {
		trip()
	}
	b.ReportAllocs()
	before := cpu(b)
	b.ResetTimer()
	for range b.N {
		trip()
	}
	b.StopTimer()
	b.ReportMetric(float64(cpu(b)-before)/float64(b.N*depth), "cpu-ns/frame")
}

// cpu is what the process has used.
func cpu(tb testing.TB) time.Duration {
	tb.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
