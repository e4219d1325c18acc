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

// Dial starts a server process and connects to its standard streams. cmd must not have Stdin or
// Stdout. If cmd.Stderr is nil, it becomes os.Stderr, so that the server's log is visible. ctx
// bounds only the start; for a process that ends with a context, make cmd with exec.CommandContext.
// The options that apply are [MaxFrame] and [Grace].
//
// Close ends the process as 2026-07-28 basic/transports/stdio requires: it closes the process's
// standard input, waits, sends SIGTERM if the system has it, waits, and kills the process. It
// returns an error if the process failed by itself or had to be killed. Without Close the process
// and two goroutines remain.
//
// Programs such as npx start the server as a child, and the child may outlive them. On Unix, set Setpgid
// in cmd.SysProcAttr, so that Close signals the process and its children. Ctrl-C in a terminal then no
// longer reaches these processes, so call Close on Ctrl-C.
//
// Read returns io.EOF when the process has ended, and all children that have inherited its standard
// output.
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

// process is a running child process. A goroutine waits for it from the start, so that it never
// remains a zombie.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	grace  time.Duration
	exited chan struct{} // closed when Wait has returned
	err    error         // error of Wait; may be read when exited is closed
}

// start starts the process. It makes the pipe for the output itself, because Wait closes the pipe
// of cmd.StdoutPipe before the last frames are read.
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
		cmd.WaitDelay = settle // a grandchild with the same stderr must not delay Wait
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

// end ends the process and waits for it.
func (p *process) end() error {
	_ = p.stdin.Close() // fails only if the process has ended
	if p.waited() {
		return p.failure()
	}
	if signal(p.cmd, syscall.SIGTERM) == nil && p.waited() {
		return nil // it ended because of the signal
	}
	if err := signal(p.cmd, syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing the server process: %w", err)
	}
	<-p.exited
	if p.failure() == nil { // it ended by itself at the same moment
		return nil
	}
	return errors.New("stdio: the server process had to be killed")
}

// waited waits for the process, for the grace period. It returns false if the process is still
// running.
func (p *process) waited() bool {
	select {
	case <-p.exited: // without a grace period the timer is ready, too
		return true
	default:
	}
	timer := time.NewTimer(p.grace)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
		return false
	}
}

// failure returns the error of a process that ended by itself, or nil.
func (p *process) failure() error {
	if p.err == nil || errors.Is(p.err, exec.ErrWaitDelay) {
		return nil
	}
	return fmt.Errorf("server process: %w", p.err)
}
