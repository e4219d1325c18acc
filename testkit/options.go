package testkit

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
)

// defaultTimeout is the timeout of one call. It is long enough for a loaded machine, and short
// enough to report a hanging call before the test binary is killed.
const defaultTimeout = 30 * time.Second

// Option configures a session. Other packages cannot implement it.
type Option interface{ option(c *config) }

type optionFunc func(*config)

func (f optionFunc) option(c *config) { f(c) }

type config struct {
	dialect   *dialect.Dialect
	carrier   carrier
	without   []string
	principal *framework.Principal
	timeout   time.Duration
	store     framework.Store // nil for the app's store, or the testkit's own
	secrets   []string        // names of members to redact in records
	leaks     []string        // functions; goroutines that run them may outlive the session
	virtual   bool            // bodies of matrices run in bubbles
	ordered   bool            // questions must come in the order of the script
	faults    *faults         // nil if there are none
	verbose   bool            // a test that fails shows many frames
}

func newConfig(opts []Option) config {
	c := config{dialect: newest(), carrier: inMemory(), timeout: defaultTimeout, leaks: lasting(), verbose: testing.Verbose()}
	for _, o := range opts {
		if o != nil { // New reports a nil option
			o.option(&c)
		}
	}
	return c
}

// where returns the revision, the carrier and the faults of the session, for messages.
func (c *config) where() string {
	where := fmt.Sprintf("at %s over %s", c.dialect, c.carrier.name)
	if c.faults != nil {
		where += fmt.Sprintf(" with Faults(%d)", c.faults.seed)
	}
	return where
}

// unknown returns the first entry of c.without that is not a capability, or "" if all are.
func (c *config) unknown() string {
	known := capabilities()
	for _, name := range c.without {
		if !slices.Contains(known, name) {
			return name + " (there are " + strings.Join(known, ", ") + ")"
		}
	}
	return ""
}

// check ends the test if the timeout or the store cannot be used.
func (c *config) check(t testing.TB) {
	t.Helper()
	if c.timeout <= 0 {
		t.Fatalf("testkit: Timeout(%v): want more than nothing", c.timeout)
	}
	if v := reflect.ValueOf(c.store); v.Kind() == reflect.Pointer && v.IsNil() {
		t.Fatalf("testkit: Store: the %T is nil: check the error of the call that opens it", c.store)
	}
}

func (c *config) has(capability string) bool { return !slices.Contains(c.without, capability) }

func capabilities() []string { return []string{"elicitation", "sampling", "roots", "tasks"} }

// Without takes capabilities away from the client: "elicitation", "sampling", "roots",
// "tasks".
func Without(capabilities ...string) Option {
	capabilities = slices.Clone(capabilities)
	return optionFunc(func(c *config) { c.without = append(slices.Clip(c.without), capabilities...) })
}

// Principal sets the caller, including claims.
func Principal(p framework.Principal) Option {
	return optionFunc(func(c *config) { c.principal = &p })
}

// User sets the caller by subject and scopes. The caller also has the scopes that these imply
// (auth.Implies).
func User(subject string, scopes ...string) Option {
	return Principal(framework.Principal{Subject: subject, Scopes: slices.Clone(scopes)})
}

// At sets the revision of the session. The default is the newest.
func At(rev protocol.Revision) Option {
	return at(dialect.Of(rev))
}

// Timeout limits one call, and one wait for a notification. The default is 30 s.
func Timeout(d time.Duration) Option { return optionFunc(func(c *config) { c.timeout = d }) }

// Ordered requires that the server asks its questions in the order of OnElicit, and of OnSample. A
// question that does not match the next answer fails the test.
func Ordered() Option { return optionFunc(func(c *config) { c.ordered = true }) }

// Store sets the store that the servers of the session share, including servers that Resume starts.
// It replaces the app's own store. If neither the session nor the app has a store, tasks are in a
// store in memory that outlives a worker, and nothing else is shared.
func Store(s framework.Store) Option { return optionFunc(func(c *config) { c.store = s }) }

// MayLeave allows goroutines to outlive the session if one of these functions is in their stack,
// such as "example.com/pool.(*Pool).run".
func MayLeave(functions ...string) Option {
	functions = slices.Clone(functions)
	return optionFunc(func(c *config) { c.leaks = append(slices.Clip(c.leaks), functions...) })
}
