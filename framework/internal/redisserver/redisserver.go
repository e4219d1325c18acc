// Package redisserver starts a real redis-server for a test, and can take it away
// and bring it back.
//
//	server := redisserver.Start(t)
//	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
//	server.Pause() // it accepts, and answers nothing
//	server.Restart()
//
// It listens on 127.0.0.1 alone, writes what it has into a directory of the test's,
// and ends with it. What was acknowledged survives Stop: every write is synced
// (--appendonly yes --appendfsync always).
//
// A test is skipped, with a message, where no redis-server is installed.
package redisserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	program = "redis-server"
	// patience is how long a server may take until it is ready, on a busy machine.
	patience = 30 * time.Second
	// tries is how often another port is tried where the first is taken in between.
	tries = 5
)

// Server is one redis-server. Its methods fail the test where they do not succeed;
// they are for one goroutine at a time.
type Server struct {
	t     testing.TB
	port  int
	args  []string
	ready string   // what it says when it takes commands
	run   *running // nil: stopped
}

// running is one process.
type running struct {
	cmd   *exec.Cmd
	ready chan struct{} // closed when it is
	ended chan struct{} // closed when it is gone

	mu  sync.Mutex // guards log
	log []string
}

// PortArg stands for the server's port in the arguments of Start.
const PortArg = "{port}"

// Start starts one and waits until it takes commands. args are further ones of
// redis-server's; they win over ours. The server ends with the test.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	return start(t, "Ready to accept connections", append([]string{
		"--port", PortArg, "--bind", "127.0.0.1", "--dir", t.TempDir(), "--daemonize", "no", "--logfile", "",
		"--save", "", "--appendonly", "yes", "--appendfsync", "always",
	}, args...))
}

// Sentinel is Start for one that watches others, as the file config says, which it
// writes to.
func Sentinel(t testing.TB, config string) *Server {
	t.Helper()
	return start(t, "Sentinel ID is", []string{config, "--sentinel", "--port", PortArg, "--bind", "127.0.0.1"})
}

func start(t testing.TB, ready string, args []string) *Server {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("no %s is installed: %v", program, err)
	}
	s := &Server{t: t, args: args, ready: ready}
	t.Cleanup(s.Stop)
	var err error
	for range tries {
		if s.port, err = freePort(t.Context()); err != nil {
			continue
		}
		if err = s.start(); err == nil {
			return s
		}
	}
	t.Fatal(err)
	return nil
}

// Addr is host and port; they stay the same over Restart.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// Stop kills the server (SIGKILL) and waits until it is gone. If it is already stopped, Stop does
// nothing.
func (s *Server) Stop() {
	s.t.Helper()
	if s.run == nil {
		return
	}
	s.run.end()
	s.run = nil
}

// Restart kills it, if it runs, starts it again with what it had written, on the same
// address, and waits until it takes commands.
func (s *Server) Restart() {
	s.t.Helper()
	s.Stop()
	if err := s.start(); err != nil {
		s.t.Fatal(err)
	}
}

// Pause makes it stand still (SIGSTOP): connections are open, nothing is answered.
func (s *Server) Pause() {
	s.t.Helper()
	s.signal("pausing", func() error { return s.run.cmd.Process.Signal(pause) })
}

// Continue ends a Pause.
func (s *Server) Continue() {
	s.t.Helper()
	s.signal("continuing", func() error { return s.run.cmd.Process.Signal(resume) })
}

func (s *Server) signal(doing string, send func() error) {
	s.t.Helper()
	if s.run == nil {
		s.t.Fatalf("%s a %s that is stopped", doing, program)
	}
	if err := send(); err != nil {
		s.t.Fatalf("%s %s: %v", doing, program, err)
	}
}

// start is Start for a known port.
func (s *Server) start() error {
	args := slices.Clone(s.args)
	for i, arg := range args {
		if arg == PortArg {
			args[i] = strconv.Itoa(s.port)
		}
	}
	// It ends with Stop, which comes after the context and other cleanups.
	cmd := exec.CommandContext(context.WithoutCancel(s.t.Context()), program, args...)
	cmd.SysProcAttr = attributes()
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("starting %s: %w", program, err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", program, err)
	}
	r := &running{cmd: cmd, ready: make(chan struct{}), ended: make(chan struct{})}
	go r.follow(out, s.ready)
	if err := r.await(); err != nil {
		r.end()
		return err
	}
	s.run = r
	return nil
}

// await ends when it is ready.
func (r *running) await() error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-r.ready:
		return nil
	case <-r.ended:
		return fmt.Errorf("%s has ended:\n%s", program, r.lines())
	case <-timer.C:
		return fmt.Errorf("%s is not ready after %v:\n%s", program, patience, r.lines())
	}
}

// follow reads what the process says until it has ended, and waits for it.
func (r *running) follow(out io.Reader, sign string) {
	defer close(r.ended)
	ready := sync.OnceFunc(func() { close(r.ready) })
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), sign) {
			ready()
		}
		r.remember(lines.Text())
	}
	// A kill is how it ends; the text of another end is in the log.
	if err := r.cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		r.remember(err.Error())
	}
}

// remember keeps the newest lines.
func (r *running) remember(line string) {
	const most = 50
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, line)
	if len(r.log) > most {
		r.log = slices.Delete(r.log, 0, len(r.log)-most)
	}
}

func (r *running) lines() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.log, "\n")
}

// end kills the process, by its own id, and waits for it.
func (r *running) end() {
	_ = r.cmd.Process.Kill() // it fails only if the process has ended already
	<-r.ended
}

// freePort returns a port that no program listens on. The port of the cluster bus is 10,000 higher.
// Both are below the ports that systems give to connections, so no connection can take them while
// the server is away.
func freePort(ctx context.Context) (int, error) {
	var last error
	for range 100 {
		port := 10000 + rand.IntN(10000)
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			last = err
			continue
		}
		return port, l.Close()
	}
	return 0, fmt.Errorf("looking for a free port: %w", last)
}
