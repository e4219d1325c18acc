package middleware_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/middleware"
)

// What is wrong with an argument is in the report of Build.
func TestWrongArguments(t *testing.T) {
	t.Parallel()
	for want, mw := range map[string]framework.Middleware{
		"Timeout: the duration must be positive":      middleware.Timeout(0),
		"Concurrency: running must be 1 or more":      middleware.Concurrency(0, 1),
		"Concurrency: waiting is negative":            middleware.Concurrency(1, -1),
		"RateLimit: Events must be 1 or more":         middleware.RateLimit(middleware.Rate{Per: time.Second}),
		"RateLimit: Per must be":                      middleware.RateLimit(middleware.Rate{Events: 1}),
		"RateLimit: Per must be a nanosecond or more": middleware.RateLimit(middleware.Rate{Events: 10, Per: 9}),
		"RateLimit: Burst is negative":                middleware.RateLimit(middleware.Rate{Events: 1, Per: 1, Burst: -1}),
		"RateLimit: Burst takes centuries":            middleware.RateLimit(middleware.Rate{Events: 1, Per: 24 * time.Hour, Burst: 1 << 40}),
		"Cache: the time to live must be positive":    middleware.Cache(0, 1),
		"Cache: entries must be 1 or more":            middleware.Cache(1, 0),
		"MaxResult: the bound must be 1 or more":      middleware.MaxResult(0),
		"RateLimit: the Store is nil":                 middleware.RateLimit(middleware.Rate{Events: 1, Per: time.Second, Store: (*slow)(nil)}),
		"Audit: the writer is nil":                    middleware.Audit(nil),
		"Audit: the writer is":                        middleware.Audit((*os.File)(nil)),
		"Logging: an option is nil":                   middleware.Logging(nil),
		"Logging: Sample needs 1 or more":             middleware.Logging(middleware.Sample(0)),
		"Logging: a pattern is nil":                   middleware.Logging(middleware.RedactPattern(nil)),
	} {
		_, err := quiet().Use(mw).Build()
		var faults *framework.BuildError
		if !errors.As(err, &faults) || !strings.Contains(err.Error(), " middleware."+want) {
			t.Errorf("want %q in the report, got %v", want, err)
		}
	}
}

// The order of phases is what the package says.
func TestPhases(t *testing.T) {
	t.Parallel()
	for phase, all := range map[framework.Phase][]framework.Middleware{
		framework.PhaseTrace:    {middleware.Trace(), middleware.Metrics(), middleware.Logging(), middleware.Audit(new(strings.Builder))},
		framework.PhaseLimit:    {middleware.RateLimit(middleware.Rate{Events: 1, Per: 1}), middleware.Concurrency(1, 1), middleware.Timeout(1)},
		framework.PhaseCache:    {middleware.Cache(1, 1)},
		framework.PhaseValidate: {middleware.CheckOutput(), middleware.MaxResult(1)},
	} {
		for _, mw := range all {
			if mw.Phase != phase || mw.Name == "" || mw.PerCall {
				t.Errorf("%q is of phase %d (per call: %v), want %d", mw.Name, mw.Phase, mw.PerCall, phase)
			}
		}
	}
}
