package testkit

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
)

// defaultTimeout is that of one call: long enough for a loaded machine, and short enough to
// report which call hangs before the test binary is killed.
const defaultTimeout = 30 * time.Second

// Option configures a session. Sealed.
type Option interface{ option(c *config) }

type optionFunc func(*config)

func (f optionFunc) option(c *config) { f(c) }

type config struct {
	dialect   *dialect.Dialect
	carrier   carrier
	without   []string
	principal *framework.Principal
	timeout   time.Duration
	store     framework.Store // nil: the app's, or the testkit's own
	secrets   []string        // names of members to redact in records
	leaks     []string        // functions whose goroutines may outlive the session
	virtual   bool            // bodies of matrices run in bubbles
	ordered   bool            // questions must come in the order of the script
	faults    *faults         // nil: none
	verbose   bool            // a test that fails shows many frames
}

func newConfig(opts []Option) config {
	c := config{dialect: newest(), carrier: inMemory(), timeout: defaultTimeout, leaks: lasting(), verbose: testing.Verbose()}
	for _, o := range opts {
		if o != nil { // New complains
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

// unknown returns the first name in without that is not a capability; "" if there is none.
func (c *config) unknown() string {
	known := capabilities()
	for _, name := range c.without {
		if !slices.Contains(known, name) {
			return name + " (there are " + strings.Join(known, ", ") + ")"
		}
	}
	return ""
}

func (c *config) has(capability string) bool { return !slices.Contains(c.without, capability) }

func capabilities() []string { return []string{"elicitation", "sampling", "roots", "tasks"} }

// Without takes capabilities away from the client: "elicitation", "sampling", "roots",
// "tasks".
func Without(capabilities ...string) Option {
	return optionFunc(func(c *config) { c.without = append(slices.Clip(c.without), capabilities...) })
}

// Principal sets who calls, claims included.
func Principal(p framework.Principal) Option {
	return optionFunc(func(c *config) { c.principal = &p })
}

// User sets who calls.
func User(subject string, scopes ...string) Option {
	return Principal(framework.Principal{Subject: subject, Scopes: scopes})
}

// At sets the revision of the session; default: the newest.
func At(rev protocol.Revision) Option {
	return at(dialect.Of(rev))
}

// Timeout limits one call, and one wait for a notification; default 30 s.
func Timeout(d time.Duration) Option { return optionFunc(func(c *config) { c.timeout = d }) }

// Ordered demands that the server asks in the order of OnElicit, and in that of OnSample: a
// question that the next answer is not for fails the test.
func Ordered() Option { return optionFunc(func(c *config) { c.ordered = true }) }

// Store sets the store that the servers of the session share, those that Resume starts
// included, in place of the app's own. Without it, and if the app has none, tasks are in a
// store in memory that outlives a worker, and nothing else is shared.
func Store(s framework.Store) Option { return optionFunc(func(c *config) { c.store = s }) }

// MayLeave lets goroutines with one of these functions in their stack, such as
// "example.com/pool.(*Pool).run", outlive the session.
func MayLeave(functions ...string) Option {
	return optionFunc(func(c *config) { c.leaks = append(slices.Clip(c.leaks), functions...) })
}
