package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mattn/go-isatty"
)

// Visit is a page of the authorization server that the user has to open.
type Visit struct {
	URL      string // page of the authorization server; http or https, checked
	Server   string
	Issuer   string
	Scopes   []string
	More     []string // for a step-up: the part of Scopes that the former grant did not have
	Callback string   // redirect URI, where the browser returns to
	Local    bool     // Callback is a listener of this process
	Deadline time.Time
}

// UI tells the user how to log in. Its methods must end with ctx. The flow cancels ctx as soon as
// it has the answer.
type UI interface {
	// Show shows the page to open. The flow continues without waiting for the user. If the pasted
	// text is not an answer to the visit, Show is called again with the same v, and then Paste.
	Show(ctx context.Context, v *Visit) error
	// Paste waits for the address at which the user's browser ended, for browsers on another
	// machine. The text is the whole URL or its query. io.EOF means that the user cannot paste.
	// Paste runs concurrently with the receiver, and the first answer counts.
	Paste(ctx context.Context, v *Visit) (string, error)
	// Done shows how the visit ended. err is nil if the user is logged in.
	Done(ctx context.Context, v *Visit, err error)
}

// Prompt sets the UI. The default is Terminal(os.Stdin, os.Stderr) if both are terminals; otherwise
// nothing is shown.
func Prompt(ui UI) Option {
	return optionFunc(func(c *config) { c.ui = ui })
}

// Patience sets how long the user may take for a login. It must be more than 0; the default is 5
// minutes. After that the flow ends with ErrLogin.
func Patience(d time.Duration) Option {
	return optionFunc(func(c *config) { c.patience = d })
}

// Receiver receives the authorization response. It serves one visit at a time; Open waits for an
// earlier visit.
type Receiver interface {
	// Open prepares for a visit, and returns its redirect URI. The URI must be https, or http on
	// localhost or a loopback address; otherwise the login fails with ErrUnsafeURL.
	Open(ctx context.Context) (redirectURI string, err error)
	// Receive is called once after Open. It waits for a response with this state and returns its
	// query, with repeated parameters. Other responses are answered with 400 and ignored.
	Receive(ctx context.Context, state string) (url.Values, error)
	// Answer sets the outcome that the browser shows. A nil err means success.
	Answer(err error)
	// Close frees the port. It may be called twice.
	Close() error
}

// Receive replaces the listener. It is for programs that have a web address of their own.
func Receive(r Receiver) Option {
	return optionFunc(func(c *config) { c.receiver = r })
}

// silent is a UI that shows nothing.
type silent struct{}

var errNoTerminal = errors.New("no terminal")

func (silent) Show(context.Context, *Visit) error            { return errNoTerminal }
func (silent) Paste(context.Context, *Visit) (string, error) { return "", io.EOF }
func (silent) Done(context.Context, *Visit, error)           {}

// terminalOfProcess returns a UI for the terminal of the process, or a silent one.
func terminalOfProcess() UI {
	if isatty.IsTerminal(os.Stdin.Fd()) && isatty.IsTerminal(os.Stderr.Fd()) {
		return Terminal(os.Stdin, os.Stderr)
	}
	return silent{}
}

// Terminal returns a UI that shows the URL and offers to paste the address. Over ssh it also shows
// how to forward the port. It reads from in only during a visit. If the browser answers first, the
// line that is then being read is lost.
func Terminal(in io.Reader, out io.Writer) UI { return &terminal{in: in, out: out} }

type terminal struct {
	in    io.Reader
	out   io.Writer
	shown atomic.Pointer[Visit] // the last visit shown
}

// Show prints the URL. If it is called again for the same visit, the user has pasted a wrong text,
// and Show prints that.
func (t *terminal) Show(_ context.Context, v *Visit) error {
	if t.shown.Swap(v) == v {
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

// Paste reads a line. A read cannot be interrupted, so it runs in a goroutine that ends with the
// line.
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

// readLine reads byte by byte, so that the bytes after the line stay in the reader.
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

// Done prints a line if the login succeeded.
func (t *terminal) Done(_ context.Context, v *Visit, err error) {
	if err != nil {
		return // the caller reports err
	}
	_, _ = fmt.Fprintf(t.out, "Logged in at %s.\n", cleaned(hostOf(v.Issuer)))
}

func hostOf(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Host
	}
	return address
}
