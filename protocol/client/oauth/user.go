package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
)

// Visit is what the user has to do.
type Visit struct {
	URL      string // of the authorization server; http(s), checked
	Server   string
	Issuer   string
	Scopes   []string
	More     []string // the part of Scopes that a former grant did not have: a step-up
	Callback string   // where the browser comes back to
	Local    bool     // Callback is a listener of this process
	Deadline time.Time
}

// UI shows the user what to do. Its methods end with ctx: the flow cancels
// it as soon as the answer has come one way or the other.
type UI interface {
	// Show tells the user where to go. The flow goes on at once.
	Show(ctx context.Context, v *Visit) error
	// Paste waits for the address at which the user's browser ended, for browsers on another
	// machine: the whole URL, or its query. io.EOF says that no answer will come this way. It is
	// called at the same time as the listener waits; the first answer counts.
	Paste(ctx context.Context, v *Visit) (string, error)
	// Done says how it ended; err is nil if the user agreed.
	Done(ctx context.Context, v *Visit, err error)
}

// Prompt uses a UI; default: Terminal(os.Stdin, os.Stderr) where both are terminals, else one that
// shows nothing.
func Prompt(ui UI) Option {
	return optionFunc(func(c *config) { c.ui = ui })
}

// Patience is how long the user may take; default 5 minutes.
func Patience(d time.Duration) Option {
	return optionFunc(func(c *config) { c.patience = d })
}

// Receiver gets the authorization response. One serves one visit at a time; more wait.
type Receiver interface {
	// Open makes ready, and returns the redirect URI of this visit.
	Open(ctx context.Context) (redirectURI string, err error)
	// Receive, called once after Open, waits for a response with this state and returns its query, each parameter as often
	// as it came. Others are answered with 400 and do not count.
	Receive(ctx context.Context, state string) (url.Values, error)
	// Answer is what the browser shows: nil for success.
	Answer(err error)
	// Close frees the port. It may be called twice.
	Close() error
}

// Receive replaces the listener; for programs that have a web address of their own.
func Receive(r Receiver) Option {
	return optionFunc(func(c *config) { c.receiver = r })
}

// silent is a UI that shows nothing.
type silent struct{}

var errNoTerminal = errors.New("no terminal")

func (silent) Show(context.Context, *Visit) error            { return errNoTerminal }
func (silent) Paste(context.Context, *Visit) (string, error) { return "", io.EOF }
func (silent) Done(context.Context, *Visit, error)           {}

// terminalOfProcess is the terminal that the process was started in, if it was.
func terminalOfProcess() UI {
	if isTerminal(os.Stdin) && isTerminal(os.Stderr) {
		return Terminal(os.Stdin, os.Stderr)
	}
	return silent{}
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Terminal shows the URL, offers to paste the address, and over ssh says how to forward the port. It
// reads in only while a paste may come: when the browser answers first, the line that is being
// read is the last one that in loses.
func Terminal(in io.Reader, out io.Writer) UI { return &terminal{in: in, out: out} }

type terminal struct {
	in  io.Reader
	out io.Writer

	mu    sync.Mutex // guards shown
	shown *Visit     // the last one
}

// Show prints the URL. The same visit again means that something else was pasted.
func (t *terminal) Show(_ context.Context, v *Visit) error {
	t.mu.Lock()
	again := t.shown == v
	t.shown = v
	t.mu.Unlock()
	if again {
		_, err := fmt.Fprintf(t.out, "That is not where this login ends. Paste the whole address, which begins with %s:\n", v.Callback)
		return err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s wants you to log in at %s", cleaned(v.Server), cleaned(hostOf(v.Issuer)))
	switch {
	case len(v.More) > 0:
		fmt.Fprintf(&text, "\nand to agree to more: %s", cleaned(strings.Join(v.More, " ")))
	case len(v.Scopes) > 0:
		fmt.Fprintf(&text, "\nand to agree to: %s", cleaned(strings.Join(v.Scopes, " ")))
	}
	fmt.Fprintf(&text, ".\n\nOpen this page if your browser does not show it:\n  %s\n", v.URL)
	callback, _ := url.Parse(v.Callback) // the flow's own
	if v.Local && os.Getenv("SSH_CONNECTION") != "" {
		host, _ := os.Hostname()
		fmt.Fprintf(&text, "\nIf the browser is on another machine, forward the port there first:\n  ssh -N -L %s:127.0.0.1:%s %s\n", callback.Port(), callback.Port(), host)
	}
	fmt.Fprintf(&text, "\nOr paste the address at which the browser ends (it begins with %s) and press enter:\n", v.Callback)
	_, err := io.WriteString(t.out, text.String())
	return err
}

// Paste reads a line. A reader cannot be interrupted, so it is read in a goroutine that ends with
// the line.
func (t *terminal) Paste(ctx context.Context, _ *Visit) (string, error) {
	type read struct {
		line string
		err  error
	}
	done := make(chan read, 1)
	go func() {
		line, err := readLine(t.in)
		done <- read{line, err}
	}()
	select {
	case r := <-done:
		return r.line, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// readLine reads byte by byte, so that what follows the line stays in the reader.
func readLine(in io.Reader) (string, error) {
	var line []byte
	for one := make([]byte, 1); len(line) < 64<<10; {
		n, err := in.Read(one)
		if n > 0 && one[0] == '\n' {
			return strings.TrimSpace(string(line)), nil
		}
		line = append(line, one[:n]...)
		if err != nil {
			return strings.TrimSpace(string(line)), err
		}
	}
	return "", errors.New("the line is too long")
}

// Done prints one line.
func (t *terminal) Done(_ context.Context, v *Visit, err error) {
	if err != nil {
		return // it is the caller's
	}
	_, _ = fmt.Fprintf(t.out, "Logged in at %s.\n", cleaned(hostOf(v.Issuer)))
}

func hostOf(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Host
	}
	return address
}
