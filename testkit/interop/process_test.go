package interop_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// process is a server with its own process, which ends with the test.
type process struct {
	cmd  *exec.Cmd
	out  output
	done chan struct{} // closed when the process has ended, with err
	err  error
	dead bool // killed
}

// output collects what a process writes, for the log of a failed test.
type output struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all.String()
}

// spawn starts a server and waits until it accepts connections on addr.
func spawn(t *testing.T, addr string, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{cmd: cmd, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &p.out, &p.out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // who wants a better end has seen to it
		<-p.done
		if t.Failed() {
			t.Logf("%s wrote:\n%s", cmd.Path, &p.out)
		}
	})
	within(t, "listening on "+addr, func() bool {
		select {
		case <-p.done:
			t.Fatalf("%s ended: %v\n%s", cmd.Path, p.err, &p.out)
		default:
		}
		conn, err := net.DialTimeout("tcp", addr, time.Second)
		if err != nil {
			return false
		}
		return conn.Close() == nil
	})
	return p
}

// end asks the process to end, and demands that it does so in good order.
func (p *process) end(t *testing.T) {
	t.Helper()
	if p.dead {
		return
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	select {
	case <-p.done:
		if p.err != nil {
			t.Errorf("%s ended with %v", p.cmd.Path, p.err)
		}
	case <-time.After(15 * time.Second):
		t.Errorf("%s does not end", p.cmd.Path)
	}
}

// kill is a crash.
func (p *process) kill() {
	p.dead = true
	_ = p.cmd.Process.Kill()
	<-p.done
}

// lastPort is below those that systems give to connections that go out, which
// might otherwise take a port before its server has it.
var lastPort atomic.Int64

const (
	firstPort = 20000
	ports     = 10000
)

// freeAddr is an address that a server can listen on.
func freeAddr(t *testing.T) string {
	t.Helper()
	for range ports {
		port := firstPort + (lastPort.Add(1)+int64(os.Getpid())*7)%ports
		addr := fmt.Sprintf("127.0.0.1:%d", port)
		if l, err := net.Listen("tcp", addr); err == nil {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			return addr
		}
	}
	t.Fatal("no port is free")
	return ""
}
