package group_test

import (
	"bufio"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/cmd/kagami/internal/group"
)

const role = "KAGAMI_TEST_ROLE"

// TestMain runs the program of the test. It starts a child that ends in order at the first interrupt, or
// never ends.
func TestMain(m *testing.M) {
	switch what := os.Getenv(role); what {
	case "":
		os.Exit(m.Run())
	case "orderly parent", "deaf parent":
		signal.Notify(make(chan os.Signal, 1), os.Interrupt) // like "go run", it leaves the signal to its child
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), role+"="+strings.Replace(what, "parent", "child", 1))
		child.Stdout = os.Stdout
		_ = child.Run()
	case "leaving parent":
		interrupts := make(chan os.Signal, 1)
		signal.Notify(interrupts, os.Interrupt)
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), role+"=deaf child")
		child.Stdout = os.Stdout
		if child.Start() == nil {
			<-interrupts
		}
	default:
		interrupts := make(chan os.Signal, 1)
		signal.Notify(interrupts, os.Interrupt)
		_, _ = os.Stdout.WriteString("ready\n")
		<-interrupts
		if what == "deaf child" {
			select {}
		}
		_, _ = os.Stdout.WriteString("ended in order\n")
	}
}

func TestEnd(t *testing.T) {
	t.Parallel()
	for what, want := range map[string]string{"orderly parent": "ended in order\n", "deaf parent": "", "leaving parent": ""} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), role+"="+what)
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd.Stdout = w
			group.Set(cmd)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			_ = w.Close()
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = cmd.Wait()
			}()
			_ = r.SetReadDeadline(time.Now().Add(time.Minute))
			out := bufio.NewReader(r)
			if line, err := out.ReadString('\n'); line != "ready\n" {
				t.Fatalf("got %q, %v", line, err)
			}
			patience := time.Minute
			if what == "deaf parent" {
				patience = 50 * time.Millisecond
			}
			group.End(cmd, ended, patience)
			group.End(cmd, ended, patience) // it has ended
			var rest strings.Builder
			if _, err := out.WriteTo(&rest); err != nil || rest.String() != want { // the child has ended, too
				t.Errorf("got %q, %v", &rest, err)
			}
		})
	}
}
