// Command stdioecho is what a pair of pipes costs without MCP: blocking reads, an
// answer for each line, one write for all lines that a read has brought.
package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/kagami-mcp/kagami/testkit/bench/internal/target"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) //nolint:forbidigo // the main function of a program
	defer stop()
	os.Exit(target.MainEcho(ctx, func(e *target.Echo) target.Server {
		return target.Server{Stdio: func(_ context.Context, in io.Reader, out io.Writer) error { return serve(e, in, out) }}
	}))
}

func serve(echo *target.Echo, in io.Reader, out io.Writer) error {
	var answers []byte
	read, kept := make([]byte, 128<<10), 0
	for {
		n, err := in.Read(read[kept:])
		rest := read[:kept+n]
		answers = answers[:0]
		for {
			i := bytes.IndexByte(rest, '\n')
			if i < 0 {
				break
			}
			before := len(answers)
			if answers = echo.Append(answers, rest[:i]); len(answers) > before {
				answers = append(answers, '\n')
			}
			rest = rest[i+1:]
		}
		if len(answers) > 0 {
			if _, failed := out.Write(answers); failed != nil {
				return failed
			}
		}
		kept = copy(read, rest)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil || kept == len(read) {
			return errors.Join(err, errors.New("no whole line"))
		}
	}
}
