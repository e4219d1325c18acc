package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/kagami-mcp/kagami/transport"
)

// Dial starts a server and connects to its standard streams. cmd must have neither Stdin
// nor Stdout; a nil cmd.Stderr becomes os.Stderr, so that the server's log is seen. ctx
// bounds only the start; for a process that ends with a context, make cmd by
// exec.CommandContext. The options that apply are [MaxFrame] and [Grace].
//
// Close ends the process as 2026-07-28 basic/transports/stdio demands: it closes the
// process's standard input, waits, sends SIGTERM (where there is one), waits, and kills it.
// It returns an error if the process ended badly by itself or had to be killed. Without
// Close the process and two goroutines stay. Read returns io.EOF when the process is gone,
// and all children to which it has left its standard output.
func Dial(ctx context.Context, cmd *exec.Cmd, opts ...Option) (transport.Conn, error) {
	if cmd == nil {
		return nil, errors.New("stdio: there is no command to start: it is nil")
	}
	c := newConfig(opts)
	if c.fault != nil {
		return nil, c.fault
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", cmd.Path, context.Cause(ctx))
	}
	p, stdout, err := start(cmd)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	p.grace = c.graceOr(defaultExit)
	return NewConn(stdout, p.stdin, func() error {
		return errors.Join(p.end(), stdout.Close())
	}, opts...), nil
}

// process is a running child. A goroutine waits for it from the start, so that it
// never is a zombie.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	grace  time.Duration
	exited chan struct{} // closed when Wait has returned
	err    error         // of Wait; to be read when exited is closed
}

// start uses a pipe of its own for the output: that of cmd.StdoutPipe would be
// closed by Wait before the last frames are read.
func start(cmd *exec.Cmd) (*process, *os.File, error) {
	if cmd.Stdout != nil {
		return nil, nil, errors.New("exec: Stdout already set")
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, nil, errors.Join(err, stdin.Close())
	}
	cmd.Stdout = theirs
	if cmd.Stderr == nil {
		cmd.Stderr = os.Stderr
	}
	if cmd.WaitDelay == 0 {
		cmd.WaitDelay = settle // a grandchild that holds stderr must not hold us
	}
	err = cmd.Start()
	_ = theirs.Close()
	if err != nil {
		return nil, nil, errors.Join(err, ours.Close())
	}
	p := &process{cmd: cmd, stdin: stdin, exited: make(chan struct{})}
	go func() {
		defer close(p.exited)
		p.err = cmd.Wait()
	}()
	return p, ours, nil
}

// end makes the process end and waits for it.
func (p *process) end() error {
	_ = p.stdin.Close() // fails only if the process is gone already
	if p.waited() {
		return p.failure()
	}
	if p.cmd.Process.Signal(syscall.SIGTERM) == nil && p.waited() {
		return nil // it ended because we asked
	}
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing the server process: %w", err)
	}
	<-p.exited
	return errors.New("stdio: the server process had to be killed")
}

// waited waits for the end of the process, for the grace period; false: it runs still.
func (p *process) waited() bool {
	timer := time.NewTimer(p.grace)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
		return false
	}
}

// failure is how the process has ended by itself; nil: well.
func (p *process) failure() error {
	if p.err == nil || errors.Is(p.err, exec.ErrWaitDelay) {
		return nil
	}
	return fmt.Errorf("server process: %w", p.err)
}
