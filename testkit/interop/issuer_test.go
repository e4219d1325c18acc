package interop_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/middleware/auth"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/client/oauth"
	"github.com/kagami-mcp/kagami/testkit"
	"github.com/kagami-mcp/kagami/transport"
)

// issuer is a process of oidc-provider, and a server of ours that wants its tokens.
type issuer struct {
	url, server string

	stdin io.Writer
	lines *bufio.Scanner
	pages atomic.Int32
}

func startIssuer(t *testing.T, seconds int, opts ...auth.Option) *issuer {
	t.Helper()
	i := &issuer{}
	i.server = testkit.Serve(t, func(url string) *framework.App {
		i.start(t, url, seconds)
		return framework.New("shop", "1", framework.WithLogger(zap.NewNop()), framework.WithAuth(
			auth.Bearer(&auth.JWT{Issuer: i.url}, append(opts, auth.Resource(url), auth.Require("shop"))...),
		)).Add(framework.Tool("who", func(ctx context.Context, _ struct{}) (string, error) {
			return transport.PrincipalFrom(ctx).Subject, nil
		}))
	})
	return i
}

// start starts the process for a resource.
func (i *issuer) start(t *testing.T, resource string, seconds int) {
	t.Helper()
	node := exec.CommandContext(t.Context(), "node", "issuer.mjs", resource, strconv.Itoa(seconds))
	node.Dir = "issuer"
	stdin, lines := piped(t, node)
	t.Cleanup(func() {
		_ = stdin.Close() // which ends it
		_ = node.Wait()
	})
	i.stdin, i.lines = stdin, lines
	if !i.lines.Scan() {
		t.Fatal("the issuer does not start")
	}
	i.url = i.lines.Text()
}

// tell sends a command to the process.
func (i *issuer) tell(t *testing.T, command string) {
	t.Helper()
	if _, err := fmt.Fprintln(i.stdin, command); err != nil || !i.lines.Scan() {
		t.Fatalf("%s: %v", command, err)
	}
}

var (
	formAction = regexp.MustCompile(`<form[^>]* action="([^"]*)"`)
	formInput  = regexp.MustCompile(`<input[^>]*type="hidden"[^>]*>`)
	inputName  = regexp.MustCompile(`name="([^"]*)"`)
	formButton = regexp.MustCompile(`<button[^>]* name="([^"]*)" value="([^"]*)"`)
	inputValue = regexp.MustCompile(`value="([^"]*)"`)
)

// browser follows pages, and fills in forms as ann does.
func (i *issuer) browser(ctx context.Context, address string) error {
	i.pages.Add(1)
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	c := &http.Client{Jar: jar}
	method, form := http.MethodGet, url.Values(nil)
	for range 10 {
		r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form.Encode()))
		if err != nil {
			return err
		}
		if form != nil {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		resp, err := c.Do(r)
		if err != nil {
			return err
		}
		page, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		action := formAction.FindSubmatch(page)
		if err != nil || action == nil {
			return err // the last page
		}
		next, err := resp.Request.URL.Parse(html.UnescapeString(string(action[1])))
		if err != nil {
			return err
		}
		method, address, form = http.MethodPost, next.String(), url.Values{"login": {"ann"}, "password": {"x"}}
		for _, input := range formInput.FindAll(page, -1) {
			if name, value := inputName.FindSubmatch(input), inputValue.FindSubmatch(input); name != nil && value != nil {
				form.Set(string(name[1]), html.UnescapeString(string(value[1])))
			}
		}
		for _, button := range formButton.FindAllSubmatch(page, -1) { // the last one agrees
			form.Set(string(button[1]), html.UnescapeString(string(button[2])))
		}
	}
	return errors.New("ten forms, and no end")
}

func (i *issuer) flow(t *testing.T, opts ...oauth.Option) *oauth.Flow {
	t.Helper()
	f, err := oauth.New(append([]oauth.Option{oauth.Keep(oauth.Memory()), oauth.Browser(i.browser)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (i *issuer) who(t *testing.T, c *client.Client, want string) {
	t.Helper()
	if got, err := client.Call[string](t.Context(), c, "who", nil); err != nil || got != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

func (i *issuer) connect(t *testing.T, f *oauth.Flow) *client.Client {
	t.Helper()
	c, err := client.Connect(t.Context(), client.HTTP(i.server, f.HTTP()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestLoginAtOIDCProvider: our client at a certified authorization server.
func TestLoginAtOIDCProvider(t *testing.T) {
	t.Parallel()
	installNode(t, "issuer")
	t.Run("registration, renewal, logout", func(t *testing.T) {
		t.Parallel()
		i, dir := startIssuer(t, 2), t.TempDir()+"/auth"
		one, two := i.flow(t, oauth.Keep(oauth.File(dir))), i.flow(t, oauth.Keep(oauth.File(dir)))
		i.who(t, i.connect(t, one), "ann")
		i.who(t, i.connect(t, two), "ann")
		for range 3 { // a refresh token that is used twice would end the login
			time.Sleep(1200 * time.Millisecond) // more than half the life of a token
			var group sync.WaitGroup
			for n := range 8 {
				f := []*oauth.Flow{one, two}[n%2]
				group.Go(func() {
					if _, err := f.Token(t.Context(), i.server); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
		}
		if n := i.pages.Load(); n != 1 {
			t.Errorf("%d pages", n)
		}
		if err := one.Logout(t.Context(), i.server); err != nil {
			t.Error(err)
		}
		time.Sleep(1200 * time.Millisecond)
		if _, err := two.Token(t.Context(), i.server); !errors.Is(err, oauth.ErrLogin) {
			t.Errorf("the other process after the logout: %v", err)
		}
	})
}

// TestLoginKindsAtOIDCProvider: keys, machines, and an issuer that refuses or is away.
func TestLoginKindsAtOIDCProvider(t *testing.T) {
	t.Parallel()
	installNode(t, "issuer")
	t.Run("DPoP", func(t *testing.T) {
		t.Parallel()
		i := startIssuer(t, 600, auth.DPoP())
		i.who(t, i.connect(t, i.flow(t, oauth.DPoP(nil, true))), "ann")
	})
	t.Run("without a user", func(t *testing.T) {
		t.Parallel()
		i := startIssuer(t, 600)
		f := i.flow(t, oauth.ClientCredentials(), oauth.Registered(oauth.Credentials{ID: "robot", Secret: "s3cret and more"}), oauth.Scopes("shop"))
		i.who(t, i.connect(t, f), "robot")
		if n := i.pages.Load(); n != 0 {
			t.Errorf("%d pages", n)
		}
	})
	t.Run("registration refused", func(t *testing.T) {
		t.Parallel()
		i := startIssuer(t, 600)
		i.tell(t, "refuse")
		if _, err := i.flow(t).Login(t.Context(), i.server); !errors.Is(err, oauth.ErrNoWay) || i.pages.Load() != 0 {
			t.Errorf("%v, %d pages", err, i.pages.Load())
		}
	})
	t.Run("away at the last step", func(t *testing.T) {
		t.Parallel()
		i := startIssuer(t, 600)
		i.tell(t, "down")
		f := i.flow(t)
		if _, err := f.Login(t.Context(), i.server); !errors.Is(err, oauth.ErrUnavailable) {
			t.Errorf("%v", err)
		}
		i.tell(t, "up")
		if g, err := f.Login(t.Context(), i.server); err != nil || !g.Renewable {
			t.Errorf("%+v, %v", g, err)
		}
	})
}
