package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pty opens a pseudo terminal. Bytes that are written to keys are typed on tty.
func pty(t *testing.T) (keys, tty *os.File) {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminal here: %v", err)
	}
	t.Cleanup(func() { _ = keys.Close() })
	var number, unlock int32
	raw, err := keys.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed syscall.Errno
	if err := raw.Control(func(fd uintptr) {
		if _, _, failed = syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCSPTLCK, uintptr(unsafe.Pointer(&unlock))); failed == 0 {
			_, _, failed = syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCGPTN, uintptr(unsafe.Pointer(&number)))
		}
	}); err != nil || failed != 0 {
		t.Skipf("no pseudo terminal here: %v, %v", err, failed)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminal here: %v", err)
	}
	t.Cleanup(func() { _ = tty.Close() })
	return keys, tty
}

// person types each answer after its prompt has appeared.
type person struct {
	shared
	keys  *os.File
	steps [][2]string // prompt, keys
}

func (p *person) Write(text []byte) (int, error) {
	n, err := p.shared.Write(text)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.steps) > 0 && bytes.HasSuffix(p.buf.Bytes(), []byte(p.steps[0][0])) {
		_, _ = p.keys.WriteString(p.steps[0][1])
		p.steps = p.steps[1:]
	}
	return n, err
}

func TestAskedInATerminal(t *testing.T) {
	t.Parallel()
	s := askServer(t, `{"a":`+askName+`,"b":`+askPage+`,"c":`+askModel+`}`)
	tests := map[string]struct {
		args  []string
		steps [][2]string
		code  int
		out   []string
	}{
		"form": {
			[]string{"call", everything, "test_elicitation", "message=Who are you?"},
			[][2]string{{"username: ", "ada\n"}, {"email: ", "ada@example.com\n"}},
			0,
			[]string{"ada@example.com"},
		},
		"form, live": {
			[]string{"call", everything, "test_elicitation", "message=Who are you?", "--revision", "2025-11-25"},
			[][2]string{{"username: ", "ada\n"}, {"email: ", "ada@example.com\n"}},
			0,
			[]string{"ada@example.com"},
		},
		"defaults, asked again": {
			[]string{"call", everything, "test_elicitation_sep1034_defaults"},
			[][2]string{{"name [John Doe]: ", "\n"}, {"age [30]: ", "x\n"}, {"age [30]: ", "31\n"}, {"score [95.5]: ", "\n"}, {"status [active]: ", "\n"}, {"verified [true]: ", "n\n"}},
			0,
			[]string{`"name":"John Doe"`, `"age":31`, `"score":95.5`, `"status":"active"`, `"verified":false`},
		},
		"choices": {
			[]string{"call", everything, "test_elicitation_sep1330_enums"},
			[][2]string{{"untitledSingle: ", "option2\n"}, {"titledSingle: ", "2\n"}, {"legacyEnum: ", "option three\n"}, {"untitledMulti: ", "1,3\n"}, {"titledMulti: ", "\n"}},
			0,
			[]string{`"untitledSingle":"option2"`, `"titledSingle":"value2"`, `"legacyEnum":"opt3"`, `"untitledMulti":["option1","option3"]`},
		},
		"decline": {
			[]string{"call", everything, "test_elicitation", "message=Who are you?"},
			[][2]string{{"username: ", "!decline\n"}},
			0,
			[]string{"decline"},
		},
		"Ctrl-D": {
			[]string{"call", everything, "test_elicitation", "message=Who are you?"},
			[][2]string{{"username: ", "\x04"}},
			0,
			[]string{"cancel"},
		},
		"model": {
			[]string{"call", everything, "test_sampling", "prompt=Say hi"},
			[][2]string{{"> ", "hi\n"}, {"> ", "there\n"}, {"> ", "\n"}},
			0,
			[]string{"LLM response: hi\nthere\n"},
		},
		"model refused": {
			[]string{"call", everything, "test_sampling", "prompt=Say hi"},
			[][2]string{{"> ", "!decline\n"}},
			1, nil,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keys, tty := pty(t)
			var out strings.Builder
			errs := &person{keys: keys, steps: tt.steps}
			a := &cli{in: tty, out: &out, errs: errs}
			code := a.run(t.Context(), tt.args)
			if code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			for _, want := range tt.out {
				if !strings.Contains(out.String(), want) {
					t.Errorf("stdout has no %q", want)
				}
			}
			if len(errs.steps) > 0 {
				t.Errorf("never asked: %q", errs.steps)
			}
			if t.Failed() || strings.Contains(out.String(), "asks") { // questions must not go to stdout
				t.Errorf("stdout:\n%s\nstderr:\n%s", out.String(), errs.String())
			}
		})
	}
	t.Run("without a name", func(t *testing.T) {
		t.Parallel()
		s := askServer(t, `{"a":`+askYes+`,"b":`+askCount+`}`)
		keys, tty := pty(t)
		var out strings.Builder
		errs := &answering{keys: keys, by: map[string]string{"[y/n]: ": "y\n", "answer (whole number, at least 1): ": "2\n"}}
		a := &cli{in: tty, out: &out, errs: errs}
		code := a.run(t.Context(), []string{"call", s.URL, "x", "--timeout", "5s"})
		if code != 0 || !strings.Contains(out.String(), `"value":true`) || !strings.Contains(out.String(), `"value":2`) || strings.Contains(errs.String(), "value") {
			t.Errorf("exit code %d\n%s\n%s", code, out.String(), errs.String())
		}
	})
	t.Run("all kinds in one round", func(t *testing.T) {
		t.Parallel()
		keys, tty := pty(t)
		var out strings.Builder
		errs := &answering{keys: keys, by: map[string]string{"name: ": "Ann\n", "age [30]: ": "\n", "[y/n]: ": "y\n"}}
		a := &cli{in: tty, out: &out, errs: errs}
		code := a.run(t.Context(), []string{"call", s.URL, "x", "--sample", "hello", "--timeout", "5s"})
		if code != 0 || !strings.Contains(out.String(), `"name":"Ann"`) || !strings.Contains(out.String(), `"age":30`) || !strings.Contains(out.String(), "hello") {
			t.Errorf("exit code %d\n%s\n%s", code, out.String(), errs.String())
		}
	})
}

// TestInATerminal runs the built program on a pseudo terminal.
func TestInATerminal(t *testing.T) {
	t.Parallel()
	inProcesses(t)
	program := filepath.Join(t.TempDir(), "kagami")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	inTerminal := func(env []string, args ...string) string {
		keys, tty := pty(t)
		if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 60}); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
		cmd.Env = append(os.Environ(), append([]string{"TERM=xterm", "NO_COLOR="}, env...)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		_ = tty.Close()
		var out bytes.Buffer
		_, _ = io.Copy(&out, keys) // it ends with an error when the last writer has closed
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v", args, err)
		}
		return strings.ReplaceAll(out.String(), "\r\n", "\n")
	}
	tools := inTerminal(nil, "tools", everything)
	if !strings.HasPrefix(tools, bold+"Tools"+usual+"\n  "+cyan) {
		t.Errorf("no colors in\n%q", tools)
	}
	plain := inTerminal([]string{"NO_COLOR=1"}, "tools", everything)
	if strings.Contains(plain, "\x1b") {
		t.Errorf("colors in spite of NO_COLOR in\n%q", plain)
	}
	for line := range strings.Lines(plain) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 60 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if bars := inTerminal(nil, "call", everything, "burst", "n=3"); !strings.Contains(bars, "[####################] 3/3") || !strings.HasSuffix(bars, eraseLine+"Sent 3 of each.\n") {
		t.Errorf("no bar in\n%q", bars)
	}
	if log := inTerminal([]string{"NO_COLOR=1"}, "tools", "./testdata/warned"); !strings.Contains(log, "\nwarn   tool \"paint\": paint.") && !strings.HasPrefix(log, "warn   tool") {
		t.Errorf("no readable log in\n%s", log)
	}
}

// answering types the answer for each prompt, in whatever order the questions come.
type answering struct {
	shared
	keys *os.File
	by   map[string]string
}

func (p *answering) Write(text []byte) (int, error) {
	for prompt, answer := range p.by {
		if bytes.HasSuffix(text, []byte(prompt)) {
			_, _ = p.keys.WriteString(answer)
		}
	}
	return p.shared.Write(text)
}

// After Ctrl-C or a timeout, no goroutine waits for the terminal.
func TestTerminalIsLeft(t *testing.T) {
	t.Parallel()
	s := askServer(t, `{"a":`+askPage+`}`)
	left := filepath.Join(t.TempDir(), "left")
	for _, args := range [][]string{
		{"call", s.URL, "x"},
		{"new", left, "--kagami", filepath.Join("..", "..")},
		{"install", "https://mcp.example.com/mcp", "--client", "cursor", "--name", "left"},
	} {
		_, tty := pty(t)
		ctx, cancel := context.WithCancel(t.Context())
		errs := &leaving{interrupt: cancel}
		a := &cli{in: tty, out: &errs.shared, errs: errs}
		began := time.Now()
		if code := a.run(ctx, args); code != 130 || ctx.Err() == nil || time.Since(began) > 45*time.Second {
			t.Errorf("%s: exit code %d after %s\n%s", args[0], code, time.Since(began), errs.String())
		}
		cancel()
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("new has written something")
	}
}

// leaving cancels the command when a question appears.
type leaving struct {
	shared
	interrupt context.CancelFunc
}

func (l *leaving) Write(text []byte) (int, error) {
	if bytes.HasSuffix(text, []byte("[y/n]: ")) || bytes.HasSuffix(text, []byte("[y/N] ")) {
		l.interrupt()
	}
	return l.shared.Write(text)
}

// TestReaderIsGone checks that the program that was built is removed when the output is no longer read, and when
// the terminal is closed.
func TestReaderIsGone(t *testing.T) {
	t.Parallel()
	inProcesses(t)
	program, err := devProgram()
	if err != nil {
		t.Fatal(err)
	}
	silent := t.TempDir() // a server that never answers
	source := "package main\n\nimport (\n\t\"io\"\n\t\"os\"\n)\n\nfunc main() { _, _ = io.Copy(io.Discard, os.Stdin) }\n"
	if err := errors.Join(os.WriteFile(filepath.Join(silent, "go.mod"), []byte("module server\n"), 0o600), os.WriteFile(filepath.Join(silent, "main.go"), []byte(source), 0o600)); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		server string
		hangUp bool
		code   int
	}{"pipe": {"../../examples/hello", false, 1}, "terminal": {silent, true, 130}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.hangUp && signal.Ignored(syscall.SIGHUP) {
				t.Skip("nohup ignores the signal")
			}
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			temp, errs := t.TempDir(), &shared{}
			cmd := exec.CommandContext(t.Context(), program, "list", tt.server)
			cmd.Stdout, cmd.Stderr, cmd.Env = w, errs, append(os.Environ(), "TMPDIR="+temp)
			if err := errors.Join(cmd.Start(), w.Close(), r.Close()); err != nil {
				t.Fatal(err)
			}
			built := func() []string {
				found, _ := filepath.Glob(filepath.Join(temp, "kagami-*", "*"))
				return found
			}
			for end := time.Now().Add(2 * time.Minute); tt.hangUp && len(built()) == 0 && time.Now().Before(end); {
				time.Sleep(10 * time.Millisecond)
			}
			if tt.hangUp {
				_ = cmd.Process.Signal(syscall.SIGHUP)
			}
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != tt.code || len(built()) > 0 || strings.Contains(errs.String(), "broken pipe") {
				t.Errorf("exit code %d, %q are left\n%s", code, built(), errs)
			}
		})
	}
}

// changing is a client that changes its file while the user is asked.
type changing struct {
	shared
	keys *os.File
	file string
}

func (c *changing) Write(text []byte) (int, error) {
	if bytes.HasSuffix(text, []byte("[y/N] ")) {
		if file, err := os.OpenFile(c.file, os.O_APPEND|os.O_WRONLY, 0); err == nil {
			_, _ = file.WriteString("\n")
			_ = file.Close()
		}
		_, _ = c.keys.WriteString("y\n")
	}
	return c.shared.Write(text)
}

// TestInstallTriedAgain checks that a command that a change of the client has stopped can be repeated.
func TestInstallTriedAgain(t *testing.T) {
	dirs := ownHome(t)
	cursor, err := clientNamed("cursor")
	if err != nil {
		t.Fatal(err)
	}
	if _, errs, code := kagami(t, "install", everything, "--name", "notes", "--client", "cursor", "--yes"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, errs)
	}
	for _, args := range [][]string{{"install", everything, "--name", "notes", "--env", "K=v", "--client", "cursor"}, {"uninstall", "notes", "--client", "cursor"}} {
		keys, tty := pty(t)
		errs := &changing{keys: keys, file: dirs.file(cursor)}
		a := &cli{in: tty, out: &shared{}, errs: errs}
		if code := a.run(t.Context(), args); code != 1 || !strings.Contains(errs.String(), "was changed by another program") {
			t.Errorf("%s: exit code %d\n%s", args[0], code, errs.String())
		}
		if _, again, code := kagami(t, append(args, "--yes")...); code != 0 {
			t.Errorf("%s, again: exit code %d\n%s", args[0], code, again)
		}
	}
}

// TestServerLogWithoutScreen checks that escape sequences do not reach a terminal, even with TERM=dumb.
func TestServerLogWithoutScreen(t *testing.T) {
	t.Parallel()
	_, tty := pty(t)
	text := "\x1b]0;title\a\n"
	for _, tt := range []struct {
		to   io.Writer
		want bool
	}{{tty, true}, {&bytes.Buffer{}, false}} {
		if l := (&cli{errs: tt.to}).newServerLog(); l.shown != tt.want {
			t.Errorf("%T: shown %v, want %v", tt.to, l.shown, tt.want)
		}
	}
	var out bytes.Buffer
	l := &serverLog{to: &out, shown: true}
	if _, err := l.Write([]byte(text)); err != nil || strings.ContainsRune(out.String(), '\x1b') {
		t.Errorf("got %q, %v", &out, err)
	}
}
