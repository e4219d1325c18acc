package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"runtime"
)

// Browser sets the function that opens a page. open must end with its context, which may be after
// the page is shown. If it fails, the flow continues with the page that the UI shows. The default
// starts the browser of the system without a shell. It fails over ssh, in CI, without a display,
// and with $BROWSER=none.
func Browser(open func(ctx context.Context, url string) error) Option {
	return optionFunc(func(c *config) { c.browser = open })
}

// NoBrowser disables opening a browser.
func NoBrowser() Option {
	return Browser(func(context.Context, string) error { return errNoBrowser })
}

var errNoBrowser = errors.New("no browser")

// systemBrowser starts a program with the URL as its one argument.
func systemBrowser(ctx context.Context, address string) error {
	if err := openable(address); err != nil {
		return err
	}
	program, args := browserProgram(runtime.GOOS, os.Getenv)
	if program == "" {
		return errNoBrowser
	}
	// The browser outlives the login, and so does the wait for it, which most systems end at once.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, append(args, address)...) //nolint:gosec // a program of the system, no shell
	apart(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return nil
	}
}

// openable returns an error for an address that a browser, or the program that opens it, might not
// treat as a page.
func openable(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())) {
		return fmt.Errorf("%w: %q is not the address of a page", ErrUnsafeURL, cleaned(address))
	}
	return nil
}

// browserProgram returns the program that opens a browser, with its first arguments. If a window
// would not be visible, it returns "".
func browserProgram(system string, getenv func(string) string) (program string, args []string) {
	if getenv("BROWSER") == "none" || getenv("CI") != "" || getenv("SSH_CONNECTION") != "" {
		return "", nil
	}
	switch system {
	case "darwin":
		return "open", nil
	case "windows":
		return "rundll32", []string{"url.dll,FileProtocolHandler"}
	}
	if getenv("DISPLAY") == "" && getenv("WAYLAND_DISPLAY") == "" {
		return "", nil
	}
	return "xdg-open", nil
}
