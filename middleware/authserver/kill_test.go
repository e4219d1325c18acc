package authserver_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/boltstore"
	"github.com/kagami-mcp/kagami/middleware/authserver"
)

// Environment of the test binary that makes it an authorization server with a file.
const (
	envFile    = "KAGAMI_AUTHSERVER_TEST_FILE"
	envAddress = "KAGAMI_AUTHSERVER_TEST_ADDRESS"
)

// serveFile is that server. It never returns well: it is killed.
func serveFile(file, address string) error {
	store, err := boltstore.Open(file)
	if err != nil {
		return err
	}
	as, err := authserver.New("http://"+address, authserver.Own(authserver.DevLogin(ann())), noteScopes(), authserver.Resource("http://"+address+"/mcp"),
		authserver.Store(store.Sessions()), authserver.Seal(make([]byte, 32)), authserver.Limit(1000, 1000, 1000, nil))
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", address)
	for end := time.Now().Add(20 * time.Second); err != nil && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		l, err = net.Listen("tcp", address) // a connection of another test may have the port for a moment
	}
	if err != nil {
		return err
	}
	fmt.Println("serves")
	return http.Serve(l, as.Handler()) //nolint:gosec // as above
}

// killed is a server that is killed between any two steps.
type killed struct {
	*site
	file    string
	process *exec.Cmd
}

// again kills the process with SIGKILL, and starts another one.
func (k *killed) again() {
	k.t.Helper()
	k.stop()
	binary, err := os.Executable()
	if err != nil {
		k.t.Fatal(err)
	}
	k.process = exec.CommandContext(k.t.Context(), binary)
	k.process.Env = append(os.Environ(), envFile+"="+k.file, envAddress+"="+strings.TrimPrefix(k.issuer, "http://"))
	out, err := k.process.StdoutPipe()
	if err == nil {
		err = k.process.Start()
	}
	if err != nil {
		k.t.Fatal(err)
	}
	if lines := bufio.NewScanner(out); !lines.Scan() || lines.Text() != "serves" {
		k.t.Fatalf("the server says %q", lines.Text())
	}
}

func (k *killed) stop() {
	if k.process != nil {
		_ = k.process.Process.Kill()
		_ = k.process.Wait() // it was killed
	}
}

// A server that is killed between any two steps locks no user out: each step goes on where it was.
func TestKilledBetweenSteps(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	k := &killed{site: &site{t: t, issuer: "http://" + address, resource: "http://" + address + "/mcp"}, file: filepath.Join(t.TempDir(), "as.db")}
	t.Cleanup(k.stop)
	k.again()
	id := k.register(plainClient)
	k.again()
	b := k.browser()
	in := b.do(http.MethodGet, k.ask(id), nil)
	k.again()
	back := b.press(in, "name", "ann")
	if back.status != http.StatusSeeOther {
		t.Fatalf("the login: %d %s", back.status, back.body)
	}
	k.again()
	page := b.do(http.MethodGet, back.to.String(), nil)
	k.again()
	a := b.press(page, "decision", "approve")
	k.again()
	if again := b.press(page, "decision", "approve"); a.to == nil || again.to == nil || again.to.String() != a.to.String() {
		t.Fatalf("%v, then %v", a.to, again.to)
	}
	k.again()
	first := k.redeem(id, a.to.Query().Get("code"))
	k.again()
	second := k.refresh(id, first.text(t, "refresh_token"))
	k.again() // and the answer was lost
	if lost := k.refresh(id, first.text(t, "refresh_token")); lost.body != second.body || lost.status != http.StatusOK {
		t.Errorf("%s, then %d %s", second.body, lost.status, lost.body)
	}
	k.again()
	if third := k.refresh(id, second.text(t, "refresh_token")); third.status != http.StatusOK {
		t.Errorf("%d %s", third.status, third.body)
	}
	keys := func() string { return b.do(http.MethodGet, k.issuer+"/jwks", nil).body }
	before := keys()
	k.again()
	if keys() != before {
		t.Error("the keys have changed")
	}
}
