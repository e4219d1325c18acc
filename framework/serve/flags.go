package serve

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/framework/serve/inspect"
	"github.com/kagami-mcp/kagami/framework/serve/page"
)

// UsageError reports an invalid command line or environment. Its text describes the problem and
// lists the flags.
type UsageError struct{ Problem string }

// Error returns the problem and the list of flags.
func (e *UsageError) Error() string {
	return e.Problem + "\nFlags: " + flagNames()
}

func usagef(format string, args ...any) error {
	return &UsageError{Problem: fmt.Sprintf(format, args...)}
}

// flags holds the settings from the command line and the environment.
type flags struct {
	stdio   bool
	http    string // address; empty if not served
	store   string // URL; empty for the app's store
	worker  bool   // runs tasks without a transport
	page    pageFlag
	inspect inspect.Format
	strict  bool
	version bool
	health  bool // checks another process and serves nothing

	allowHosts, allowOrigins listFlag
	tlsCert, tlsKey          string
	sessionIdle              time.Duration // 0: the carrier's default
	bodyLimit                sizeFlag      // 0: the carrier's default
	logLevel                 levelFlag
	logFormat                string // json or console; "" selects console on a terminal
}

// pageFlag is the address of --page, or "" without the page. The flag without a value selects any free
// port.
type pageFlag string

// IsBoolFlag allows the flag without a value.
func (*pageFlag) IsBoolFlag() bool { return true }

// String returns the address, or "" without the page.
func (p *pageFlag) String() string { return string(*p) }

// Set sets the value after "=". Without a value, package flag passes "true".
func (p *pageFlag) Set(text string) error {
	if on, err := strconv.ParseBool(text); err == nil {
		*p = ""
		if on {
			*p = "127.0.0.1:0"
		}
		return nil
	}
	if !strings.Contains(text, ":") {
		return errors.New("want :PORT, or nothing for a free port")
	}
	addr, err := page.LoopbackAddress(text)
	*p = pageFlag(addr)
	return err
}

// looks reports whether the program prints something instead of serving.
func (f *flags) looks() bool { return f.version || f.inspect.Wanted() }

// wording replaces words of package flag in its error texts.
var wording = strings.NewReplacer("invalid boolean value", "invalid value", "flag provided but not defined: -", "unknown flag --", " for -", " for --", "parse error", "want true or false")

// parse returns the flags of the command line and the environment. If help was requested, it
// returns flag.ErrHelp.
func (s *settings) parse(args []string) (*flags, error) {
	f := &flags{}
	set := f.set()
	if err := set.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, flag.ErrHelp
		}
		return nil, usagef("%s", wording.Replace(err.Error()))
	}
	if set.NArg() > 0 {
		return nil, unexpected(set.Arg(0))
	}
	given := givenOf(set) // on the command line only, because the environment applies to all programs
	if err := s.environment(set); err != nil {
		return nil, err
	}
	if err := f.carriers(set, given); err != nil {
		return nil, err
	}
	return f, f.overHTTP(given)
}

// carriers checks what to serve. stdio is the default if neither --stdio nor another transport was
// given. typed has the names of the flags on the command line.
func (f *flags) carriers(set *flag.FlagSet, typed map[string]bool) error {
	given := givenOf(set)
	if err := f.empty(given); err != nil {
		return err
	}
	if f.worker {
		return f.works(set, typed)
	}
	if !given["stdio"] {
		f.stdio = f.http == ""
	}
	if !f.stdio && f.http == "" && !f.looks() {
		return usagef("--stdio=false leaves nothing to serve: give --http")
	}
	if f.http == "" {
		return nil
	}
	return f.address()
}

// empty refuses an empty value. It most likely comes from an unset variable in a script, and the
// default would be a surprise. With --stdio or --worker, "--http=" is allowed and overrides the
// environment.
func (f *flags) empty(given map[string]bool) error {
	switch {
	case given["store"] && f.store == "":
		return usagef(`--store "": want file:PATH, redis://HOST:PORT/DB or memory:`)
	case given["http"] && f.http == "" && !given["stdio"] && !f.worker:
		return usagef(`--http "": want HOST:PORT or :PORT; to serve on stdin and stdout give --stdio`)
	case given["tls-cert"] && f.tlsCert == "":
		return usagef(`--tls-cert "": want a file`)
	case given["tls-key"] && f.tlsKey == "":
		return usagef(`--tls-key "": want a file`)
	}
	return nil
}

// givenOf returns the names of the flags that were set, on the command line or from the
// environment.
func givenOf(set *flag.FlagSet) map[string]bool {
	given := map[string]bool{}
	set.Visit(func(f *flag.Flag) { given[f.Name] = true })
	return given
}

// works checks --worker, which needs a store that other processes share, and no transport. On the
// command line, --worker has precedence over a transport from the environment.
func (f *flags) works(set *flag.FlagSet, typed map[string]bool) error {
	for _, other := range []string{"stdio", "http", "page"} {
		if g := set.Lookup(other); g.Value.String() != g.DefValue && (typed[other] || !typed["worker"]) {
			return usagef("--worker serves no client: remove it or --%s; a server with clients runs tasks as well", other)
		}
	}
	f.stdio, f.http, f.page = false, "", ""
	if scheme, _, _ := strings.Cut(f.store, ":"); scheme == "memory" || scheme == "file" {
		return usagef("--worker needs a store that several processes share: --store redis://HOST:PORT/DB")
	}
	return nil
}

func unexpected(arg string) error {
	if arg == string(inspect.JSON) || arg == string(inspect.Text) {
		return usagef("unexpected argument %q: write --inspect=%s", arg, arg)
	}
	return usagef("unexpected argument %q", arg)
}

// environment sets the flags that were not given, from environment variables. Without HTTP it does
// not read variables about HTTP.
func (s *settings) environment(set *flag.FlagSet) error {
	if s.prefix == "" {
		return nil
	}
	given := givenOf(set)
	for _, one := range settingsTable() {
		name, variable := one.name, s.variable(one)
		if variable == "" {
			continue
		}
		text, ok := os.LookupEnv(variable)
		if !ok || text == "" || given[name] || slices.Contains(aboutHTTP, name) && set.Lookup("http").Value.String() == "" {
			continue
		}
		if err := set.Set(name, text); err != nil {
			return usagef("%s is %s: %s", variable, strconv.Quote(text), wording.Replace(err.Error()))
		}
	}
	return nil
}
