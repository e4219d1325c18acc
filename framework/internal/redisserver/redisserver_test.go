package redisserver_test

import (
	"bufio"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kagami-mcp/kagami/framework/internal/redisserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// say is what the server answers to an inline command, in one line.
func say(t *testing.T, s *redisserver.Server, command string, patience time.Duration) (string, error) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", s.Addr(), 5*time.Second)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte(command + "\r\n")); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(line), err
}

func want(t *testing.T, s *redisserver.Server, command, answer string) {
	t.Helper()
	if got, err := say(t, s, command, 10*time.Second); got != answer || err != nil {
		t.Errorf("%s: %q, %v; want %q", command, got, err, answer)
	}
}

func TestServer(t *testing.T) {
	t.Parallel()
	s := redisserver.Start(t)
	addr := s.Addr()
	want(t, s, "SET k 1", "+OK")
	s.Restart() // a kill: nothing is lost
	want(t, s, "INCR k", ":2")
	s.Stop()
	s.Stop()
	if got, err := say(t, s, "PING", time.Second); err == nil {
		t.Errorf("a server that is stopped says %q", got)
	}
	s.Restart()
	want(t, s, "INCR k", ":3")
	if s.Addr() != addr {
		t.Errorf("it moved from %s to %s", addr, s.Addr())
	}
	s.Pause()
	if got, err := say(t, s, "PING", 200*time.Millisecond); err == nil {
		t.Errorf("a server that stands still says %q", got)
	}
	s.Continue()
	want(t, s, "PING", "+PONG")
	s.Pause()
	s.Restart() // one that stands still, too
	want(t, s, "INCR k", ":4")
	s.Pause() // and it ends with the test
}

func TestArguments(t *testing.T) {
	t.Parallel()
	s := redisserver.Start(t, "--appendonly", "no")
	want(t, s, "SET k 1", "+OK")
	s.Restart()
	want(t, s, "GET k", "$-1")
}

func TestTwoServers(t *testing.T) {
	t.Parallel()
	a, b := redisserver.Start(t), redisserver.Start(t)
	want(t, a, "SET k 1", "+OK")
	want(t, b, "GET k", "$-1")
}
