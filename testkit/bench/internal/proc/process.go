package proc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/kagami-mcp/kagami/testkit/bench/internal/target"
)

// Process is a server that runs. Its methods are for one goroutine.
type Process struct {
	Addr string   // that it serves HTTP on, if it does
	In   *os.File // its stdin and stdout, if it speaks there
	Out  *os.File

	cmd      *exec.Cmd
	memory   chan target.Memory
	profiled chan struct{}
	ended    chan struct{} // closed when stderr has ended
	errs     []string      // the last lines of stderr; read once it has ended
}

// Output runs a program to its end, and returns what it prints; its stderr goes to errs.
func Output(ctx context.Context, program string, env []string, errs io.Writer, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), errs
	bind(cmd)
	return cmd.Output()
}

// patience is how long a server may take to start, to report or to end.
const patience = time.Minute

// HTTP starts a server on a port of its own choice, and waits until it serves.
func HTTP(ctx context.Context, program string, env []string, args ...string) (*Process, error) {
	p := newProcess(exec.CommandContext(ctx, program, append(args, "--http", "127.0.0.1:0")...), env)
	listening := make(chan string, 1)
	if err := p.start(listening); err != nil {
		return nil, err
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case p.Addr = <-listening:
		return p, nil
	case <-p.ended:
	case <-late.C:
	}
	return nil, errors.Join(fmt.Errorf("%s does not serve", program), p.Stop())
}

// Stdio starts a server on pipes. The ends in this process block, like the ends in the server, because
// Go's poller would take most of the time of a round trip.
func Stdio(ctx context.Context, program string, env []string, args ...string) (*Process, error) {
	p := newProcess(exec.CommandContext(ctx, program, args...), env)
	in, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	read, out, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close(), write.Close())
	}
	p.cmd.Stdin, p.cmd.Stdout, p.In, p.Out = in, out, write, read
	err = p.start(nil)
	err = errors.Join(err, in.Close(), out.Close())
	write.Fd() // as a side effect both block from now on
	read.Fd()
	if err != nil {
		return nil, errors.Join(err, write.Close(), read.Close())
	}
	return p, nil
}

func newProcess(cmd *exec.Cmd, env []string) *Process {
	cmd.Env = append(os.Environ(), env...)
	bind(cmd)
	return &Process{cmd: cmd, memory: make(chan target.Memory, 1), profiled: make(chan struct{}, 1), ended: make(chan struct{})}
}

func (p *Process) start(listening chan<- string) error {
	errs, err := p.cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	go p.follow(errs, listening)
	return nil
}

// follow reads stderr to its end.
func (p *Process) follow(errs io.Reader, listening chan<- string) {
	defer close(p.ended)
	lines := bufio.NewScanner(errs)
	for lines.Scan() {
		line := lines.Text()
		var m target.Memory
		if n, _ := fmt.Sscanf(line, target.MemoryLine, &m.Heap, &m.Stacks); n == 2 {
			p.memory <- m
			continue
		}
		if line == target.ProfileLine {
			p.profiled <- struct{}{}
			continue
		}
		if _, addr, found := strings.Cut(line, " on "); found && listening != nil {
			listening <- addr
			listening = nil
			continue
		}
		p.keep(line)
	}
	_, _ = io.Copy(io.Discard, errs) // a line that is too long must not block the server
}

// keptLines are for the report of a server that failed.
const keptLines = 20

func (p *Process) keep(line string) {
	p.errs = append(p.errs, line)
	if len(p.errs) > keptLines {
		p.errs = p.errs[1:]
	}
}

// PID is its process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Memory asks the server for its memory, after a collection.
func (p *Process) Memory() (target.Memory, error) {
	return answered(p, syscall.SIGUSR1, p.memory)
}

// Profile has the server begin a profile of its CPU, or end and write it.
func (p *Process) Profile() error {
	_, err := answered(p, syscall.SIGUSR2, p.profiled)
	return err
}

// answered sends a signal, and waits for what the server says to it.
func answered[T any](p *Process, s os.Signal, answer <-chan T) (said T, err error) {
	if err := p.cmd.Process.Signal(s); err != nil {
		return said, err
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case said = <-answer:
		return said, nil
	case <-p.ended:
	case <-late.C:
	}
	return said, fmt.Errorf("%s does not answer to %v", p.cmd.Path, s)
}

// Resident is the memory of the process that is resident, in bytes: what it shares with
// others, as the pages of its program, included.
func (p *Process) Resident() (int, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID()) + "/smaps_rollup")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[0] == "Rss:" {
			kilobytes, err := strconv.Atoi(fields[1])
			return kilobytes << 10, err
		}
	}
	return 0, errors.New("no Rss in smaps_rollup")
}

// Kill ends the process at once; Stop is still to be called. It may be called by another
// goroutine.
func (p *Process) Kill() { _ = p.cmd.Process.Kill() } // or it has ended

// Stop ends the process and waits for it. That it had ended by itself is an error,
// which has the last of what it wrote on stderr.
func (p *Process) Stop() error {
	var err error
	select {
	case <-p.ended:
		err = fmt.Errorf("%s has ended: %s", p.cmd.Path, strings.Join(p.errs, "\n"))
	default:
	}
	if p.In != nil {
		err = errors.Join(err, p.In.Close(), p.Out.Close())
	}
	p.Kill()
	<-p.ended
	_ = p.cmd.Wait() // it was killed
	return err
}
