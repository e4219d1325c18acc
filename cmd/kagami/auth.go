package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/kagami-mcp/kagami/cmd/kagami/internal/login"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/client/oauth"
)

func (a *cli) authCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "auth",
		Short: "Log in at servers, and show logins",
		Long: `Log in at HTTP servers that want OAuth tokens, and show logins.

Commands for a URL use the tokens of a login, and renew them. In a terminal they start a
login when the server asks for one. --bearer and an Authorization header have precedence.

Tokens are stored in files that only you can read, in "kagami/auth" of your configuration
directory, or in $KAGAMI_AUTH_DIR. If $KAGAMI_AUTH_HELPER names a program with the protocol
of docker-credential-helpers, that program stores them instead.

To log in without a user, set $KAGAMI_CLIENT_ID with $KAGAMI_CLIENT_SECRET or with
$KAGAMI_CLIENT_KEY (a PEM file). Or set $KAGAMI_ASSERTION_FILE (a file with the token that a
platform gives to a workload).`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("auth: unknown command %q", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().StringVar(&a.account, "account", "", "name of the account if you have several at one server (default: $"+login.EnvAccount+")")
	cmd.AddCommand(a.authLoginCommand(), a.authLogoutCommand(), a.authTokenCommand(), a.authStatusCommand(), a.authDebugCommand())
	return cmd
}

// urlOf returns the only argument of a command that needs a URL.
func urlOf(args []string) (string, error) {
	if len(args) != 1 {
		return "", usagef("want the URL of a server")
	}
	if !isURL(args[0]) {
		return "", cmp.Or(looksLikeURL(args[0]), usagef("%q is not a URL: only servers over HTTP have logins", args[0]))
	}
	return args[0], nil
}

// forURL returns a command's function that calls run with the URL of the server.
func forURL(run func(ctx context.Context, server string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		server, err := urlOf(args)
		if err != nil {
			return err
		}
		return run(cmd.Context(), server)
	}
}

// loginFlags are the flags of "auth login". Only Settings is saved.
type loginFlags struct {
	login.Settings
	secretEnv string
	scopes    []string
	noBrowser bool
}

func (a *cli) authLoginCommand() *cobra.Command {
	f := &loginFlags{}
	cmd := &cobra.Command{
		Use:   "login URL",
		Short: "Log in at a server",
		Long: `Log in at a server, even if there already is a login.

The page of the authorization server opens in your browser. Without a browser, open the
printed page on another machine. Then paste the last address that the other browser shows.

If the login succeeds, the flags for the client are saved for this server, so later commands
and logins do not need them. To log in without the saved client, give --client-id "".`,
		Example: `  kagami auth login https://mcp.example.com/mcp
  kagami auth login https://mcp.example.com/mcp --scope orders:write
  kagami auth login https://mcp.example.com/mcp --client-id my-app --callback-port 8085`,
	}
	flags := cmd.Flags()
	cmd.RunE = forURL(func(ctx context.Context, server string) error { return a.authLogin(ctx, server, f, flags.Changed) })
	flags.StringArrayVar(&f.scopes, "scope", nil, "ask for this `SCOPE` in addition to the scopes that the server wants; repeatable")
	flags.BoolVar(&f.noBrowser, "no-browser", false, "print the address of the page, and open no browser")
	flags.StringVar(&f.ClientID, "client-id", "", "`ID` of a client that was registered by hand")
	flags.StringVar(&f.secretEnv, "client-secret-env", "", "environment variable with the secret of the client of --client-id")
	flags.StringVar(&f.ClientIssuer, "client-issuer", "", "authorization server (`ISSUER`) of the client of --client-id, if the ID is used at several")
	flags.StringVar(&f.Document, "client-document", "", "https `URL` of a client ID metadata document")
	flags.IntVar(&f.Port, "callback-port", 0, "`PORT` of the redirect URI (default: a free port)")
	flags.StringVar(&f.Host, "callback-host", "127.0.0.1", "name of this machine in the redirect URI: 127.0.0.1 or localhost")
	flags.StringArrayVar(&f.AssumePKCE, "assume-pkce", nil, "`ISSUER` that supports S256 although its metadata does not list it; repeatable")
	flags.StringArrayVar(&f.NoResource, "without-resource", nil, "`ISSUER` that refuses the parameter resource, because its scopes name the server; repeatable")
	flags.BoolVar(&f.DPoP, "dpop", false, "bind tokens to a key of this machine, if the server supports it (RFC 9449)")
	return cmd
}

func (a *cli) authLogin(ctx context.Context, server string, f *loginFlags, given func(flag string) bool) error {
	if f.Host != "127.0.0.1" && f.Host != "localhost" {
		return usagef("--callback-host: got %q, want 127.0.0.1 or localhost", f.Host)
	}
	if f.secretEnv != "" {
		if f.ClientSecret = os.Getenv(f.secretEnv); f.ClientSecret == "" {
			return usagef("--client-secret-env: %s is not set", f.secretEnv)
		}
	}
	if err := f.complete(ctx, server, a.accountName(), given); err != nil {
		return err
	}
	opts := append(f.Options(), oauth.Prompt(loginTerminal{oauth.Terminal(a.typed(), a.errs)}))
	switch {
	case f.noBrowser:
		opts = append(opts, oauth.NoBrowser())
	case a.browse != nil:
		opts = append(opts, oauth.Browser(a.browse))
	}
	flow, err := a.flow(opts...)
	if err != nil {
		return &usageError{err}
	}
	g, err := flow.Login(ctx, server, f.scopes...)
	if err != nil {
		return &authError{err, "login", server} // and the settings of an earlier login stay
	}
	if err := login.Save(ctx, login.Store(), server, a.accountName(), f.Settings); err != nil {
		return err
	}
	if a.json {
		return writeJSON(a.out, g)
	}
	_, err = fmt.Fprintf(a.out, "Logged in at %s: %s\n", onTerminal(g.Issuer), describe(g))
	return err
}

// complete takes the flags that were not given from the last login at the server.
func (f *loginFlags) complete(ctx context.Context, server, account string, given func(flag string) bool) error {
	saved, err := login.Load(ctx, login.Store(), server, account)
	if err != nil {
		return err
	}
	if !given("client-id") && !given("client-document") {
		f.ClientID, f.Document = saved.ClientID, saved.Document
	}
	if !given("client-issuer") && f.ClientID == saved.ClientID {
		f.ClientIssuer = saved.ClientIssuer
	}
	// The secret is for the authorization server that it was given for, and for no other.
	if !given("client-secret-env") && f.ClientID == saved.ClientID && f.ClientIssuer == saved.ClientIssuer {
		f.ClientSecret = saved.ClientSecret
	}
	if !given("callback-host") && saved.Host != "" {
		f.Host = saved.Host
	}
	if !given("callback-port") {
		f.Port = saved.Port
	}
	if !given("assume-pkce") {
		f.AssumePKCE = saved.AssumePKCE
	}
	if !given("without-resource") {
		f.NoResource = saved.NoResource
	}
	if !given("dpop") {
		f.DPoP = saved.DPoP
	}
	return nil
}

// loginTerminal is a terminal that prints nothing at the end of a login, because the command prints
// the outcome.
type loginTerminal struct{ oauth.UI }

// Done prints nothing.
func (loginTerminal) Done(context.Context, *oauth.Visit, error) {}

// typed returns the reader of what the user types or pastes.
func (a *cli) typed() io.Reader {
	if a.in == nil {
		return strings.NewReader("")
	}
	return a.in
}

// describe returns the lifetime and the scopes of a login in words.
func describe(g *oauth.Grant) string {
	text := "valid"
	switch {
	case g.Renewable:
		text = "valid until you log out"
	case !g.Expires.IsZero():
		text = "valid until " + g.Expires.Local().Format(time.DateTime) //nolint:gosmopolitan // for the user
	}
	if len(g.Scopes) > 0 {
		text += ", scopes " + onTerminal(strings.Join(g.Scopes, " "))
	}
	return text + "."
}

// flow returns a flow that obtains tokens for this account.
func (a *cli) flow(opts ...oauth.Option) (*oauth.Flow, error) {
	return oauth.New(append([]oauth.Option{oauth.Keep(login.Store()), oauth.Profile(a.accountName())}, opts...)...)
}

// quietFlow returns a flow that asks nothing and opens no browser.
func (a *cli) quietFlow(ctx context.Context, server string, more ...oauth.Option) (*oauth.Flow, error) {
	machine, err := login.Machine(os.Getenv)
	if err != nil {
		return nil, &usageError{err}
	}
	opts := machine
	if machine == nil {
		settings, err := login.Load(ctx, login.Store(), server, a.accountName())
		if err != nil {
			return nil, err
		}
		opts = settings.Options()
	}
	return a.flow(append(append(opts, oauth.NoBrowser(), oauth.Prompt(nowhere{})), more...)...)
}

// login returns an option that adds the tokens of a login to requests. In a terminal, a login
// begins if the server wants one. Otherwise only saved tokens, or a login without a user, are used.
func (a *cli) login(ctx context.Context, server string, more ...oauth.Option) (client.HTTPOption, error) {
	none := client.Authorize(nil)
	machine, err := login.Machine(os.Getenv)
	if err != nil {
		return none, &usageError{err}
	}
	in, _ := a.in.(*os.File)
	_, shown := a.errs.(*screen)
	if machine != nil || !shown || in == nil || !isatty.IsTerminal(in.Fd()) {
		flow, err := a.quietFlow(ctx, server, more...)
		if err == nil && machine == nil {
			_, err = flow.Token(ctx, server)
		}
		switch {
		case errors.Is(err, oauth.ErrLogin):
			return none, nil // most servers want no token
		case flow == nil && errors.Is(err, oauth.ErrStore):
			return client.Authorize(storeless{err}), nil
		case err != nil && !errors.Is(err, oauth.ErrStore): // an error of the store matters only to servers that want a token: the flow then returns it
			return none, err
		}
		return flow.HTTP(), nil
	}
	settings, err := login.Load(ctx, login.Store(), server, a.accountName())
	if err != nil && !errors.Is(err, oauth.ErrStore) {
		return none, err
	}
	opts := append(append(settings.Options(), oauth.Prompt(&loginScreen{cli: a})), more...)
	if a.browse != nil {
		opts = append(opts, oauth.Browser(a.browse))
	}
	flow, err := a.flow(opts...)
	if err != nil {
		return none, err
	}
	return flow.HTTP(), nil
}

// storeless sends requests without a token. If the server wants a token, it returns the error of
// the store.
type storeless struct{ err error }

// Do sends r.
func (s storeless) Do(c *http.Client, _ *url.URL, r *http.Request) (*http.Response, error) {
	resp, err := c.Do(r)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	return nil, errors.Join(s.err, resp.Body.Close())
}

// loginToken returns the saved token of a login, or "". It never logs in.
func (a *cli) loginToken(ctx context.Context, server []string) string {
	if !remote(server) {
		return ""
	}
	flow, err := a.quietFlow(ctx, server[0])
	if err != nil {
		return ""
	}
	t, err := flow.Token(ctx, server[0])
	if err != nil || t.Scheme != "Bearer" {
		return ""
	}
	return t.Value
}

// loginScreen shows what the user has to do during another command. It reads nothing, because the
// user may be typing an answer to a question of the server.
type loginScreen struct {
	nowhere // Paste returns io.EOF
	cli     *cli
	held    bool
}

// Show prints the address of the page, and stops the time limit of the server.
func (l *loginScreen) Show(_ context.Context, v *oauth.Visit) error {
	if l.cli.limit != nil {
		l.cli.limit.hold()
		l.held = true
	}
	what := ""
	if len(v.More) > 0 {
		what = " and to agree to " + strings.Join(v.More, " ")
	}
	_, err := io.WriteString(l.cli.errs, onTerminal(fmt.Sprintf(`%s wants you to log in%s.
Open this page if your browser does not show it:
  %s
If the browser is on another machine, press Ctrl-C and run: kagami auth login %s
`, v.Server, what, v.URL, v.Server)))
	return err
}

// Done lets the time limit run again.
func (l *loginScreen) Done(context.Context, *oauth.Visit, error) {
	if l.held {
		l.cli.limit.release()
		l.held = false
	}
}

// nowhere is a UI that shows nothing.
type nowhere struct{}

func (nowhere) Show(context.Context, *oauth.Visit) error            { return errors.New("no terminal") }
func (nowhere) Paste(context.Context, *oauth.Visit) (string, error) { return "", io.EOF }
func (nowhere) Done(context.Context, *oauth.Visit, error)           {}

func (a *cli) accountName() string { return cmp.Or(a.account, os.Getenv(login.EnvAccount)) }

func (a *cli) authLogoutCommand() *cobra.Command {
	var forget, all bool
	cmd := &cobra.Command{
		Use:   "logout URL",
		Short: "Revoke and forget a login",
		Long: `Revoke and forget a login. The tokens are revoked if the authorization server supports it,
and deleted on this machine in any case.

With --forget, the flags that "auth login" saved and the registration of the client are
deleted as well. With --all and --forget, no record of the account is left on this machine,
also of servers without a login. Clients stay registered at their authorization servers.`,
		Example: `  kagami auth logout https://mcp.example.com/mcp
  kagami auth logout --all --forget`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !all {
				server, err := urlOf(args)
				if err != nil {
					return err
				}
				return a.authLogout(cmd.Context(), forget, server)
			}
			if len(args) > 0 {
				return usagef("--all logs out of all servers: leave out URL")
			}
			return a.authLogoutAll(cmd.Context(), forget)
		},
	}
	cmd.Flags().BoolVar(&forget, "forget", false, "also delete the saved flags and the registration of the client")
	cmd.Flags().BoolVar(&all, "all", false, "log out everywhere")
	return cmd
}

func (a *cli) authLogoutAll(ctx context.Context, forget bool) error {
	flow, err := a.flow()
	if err != nil {
		return err
	}
	grants, unread := flow.Grants(ctx)
	var servers []string
	for _, g := range grants {
		servers = append(servers, g.Server)
	}
	failed := a.authLogout(ctx, forget, slices.Compact(servers)...)
	if forget {
		unread = login.ForgetAll(ctx, login.Store(), a.accountName()) // its error also names the records that could not be read above
	}
	return errors.Join(failed, unread)
}

// authLogout logs out of these servers, and prints where there was a login.
func (a *cli) authLogout(ctx context.Context, forget bool, servers ...string) error {
	left := []string{}
	var failed error
	for _, server := range servers {
		was, err := a.logOut(ctx, server, forget)
		text := "There was no login at %s.\n"
		if was {
			left, text = append(left, server), "Logged out of %s.\n"
		}
		if err == nil && !a.json {
			_, err = fmt.Fprintf(a.out, text, onTerminal(server))
		}
		failed = errors.Join(failed, err)
	}
	if failed != nil || !a.json {
		return failed
	}
	return writeJSON(a.out, map[string]any{"loggedOut": left})
}

// logOut logs out of a server, and reports whether there was a login.
func (a *cli) logOut(ctx context.Context, server string, forget bool) (bool, error) {
	flow, err := a.quietFlow(ctx, server)
	if err != nil {
		return false, err
	}
	var opts []oauth.LogoutOption
	if forget {
		opts = append(opts, oauth.Forget())
	}
	before, _ := flow.Grants(ctx) // the error is ignored, because it may be about other servers
	err = flow.Logout(ctx, server, opts...)
	if forget {
		err = errors.Join(err, login.Forget(ctx, login.Store(), server, a.accountName()))
	}
	if err != nil {
		return false, err
	}
	after, _ := flow.Grants(ctx)
	return len(after) < len(before), nil
}

func (a *cli) authTokenCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "token URL",
		Short: "Print the token for a server",
		Long: `Print the token for a server, for curl and scripts. The token is renewed if necessary. The
command never logs in.`,
		Example: `  curl -H "Authorization: Bearer $(kagami auth token https://mcp.example.com/mcp)" …`,
		RunE: forURL(func(ctx context.Context, server string) error {
			flow, err := a.quietFlow(ctx, server)
			if err != nil {
				return err
			}
			t, err := flow.Token(ctx, server)
			if err != nil {
				return &authError{err, "token", server}
			}
			if a.json {
				return writeJSON(a.out, map[string]any{"token": t.Value, "scheme": t.Scheme, "expires": t.Expires, "scopes": t.Scopes})
			}
			_, err = fmt.Fprintln(a.out, t.Value)
			return err
		}),
	}
}

func (a *cli) authStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "List the logins of this machine",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			flow, err := a.flow()
			if err != nil {
				return err
			}
			grants, unread := flow.Grants(cmd.Context())
			if a.json {
				return errors.Join(writeJSON(a.out, map[string]any{"logins": append([]oauth.Grant{}, grants...)}), unread)
			}
			if len(grants) == 0 && unread == nil {
				_, err = fmt.Fprintln(a.out, "There is no login.")
				return err
			}
			table := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
			for _, g := range grants {
				_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", onTerminal(g.Server), onTerminal(g.Issuer), describe(&g))
			}
			return errors.Join(table.Flush(), unread)
		},
	}
}

func (a *cli) authDebugCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "debug URL",
		Short: "Show each step of a login",
		Long: `Show each step of a login: the request, the response and the rule that decided. The command
does only steps that change nothing and do not need you. Secrets are not shown. Exit code 3
means that a login would fail.`,
		RunE: forURL(func(ctx context.Context, server string) error {
			flow, err := a.quietFlow(ctx, server)
			if err != nil {
				return err
			}
			in, failed := flow.Inspect(ctx, server)
			if failed != nil {
				failed = &authError{failed, "debug", server}
			}
			if a.json {
				return errors.Join(writeJSON(a.out, in), failed)
			}
			return errors.Join(a.showSteps(in), failed)
		}),
	}
}

// showSteps prints one paragraph for each step.
func (a *cli) showSteps(in *oauth.Inspection) error {
	var text strings.Builder
	for _, s := range in.Steps {
		mark := "ok  "
		switch {
		case s.Failed:
			mark = "FAIL"
		case s.Warning:
			mark = "note"
		}
		fmt.Fprintf(&text, "%s  %s: %s\n", mark, s.Name, s.Verdict)
		if s.URL != "" {
			fmt.Fprintf(&text, "      %s", s.URL)
			if s.Status > 0 {
				fmt.Fprintf(&text, " → %d in %s", s.Status, s.Took.Round(time.Millisecond))
			}
			text.WriteString("\n")
		}
		if s.Rule != "" {
			fmt.Fprintf(&text, "      by %s\n", s.Rule)
		}
	}
	if in.Issuer != "" {
		fmt.Fprintf(&text, "\nThe authorization server is %s; tokens are for %s.\n", in.Issuer, in.Resource)
	}
	_, err := io.WriteString(a.out, onTerminal(text.String()))
	return err
}
