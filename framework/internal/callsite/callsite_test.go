package callsite_test

import (
	"reflect"
	"regexp"
	"testing"

	"github.com/kagami-mcp/kagami/framework/internal/callsite"
)

type shop struct{}

func (*shop) open() {}

func newShop() *shop { return &shop{} }

func here(skip int) string { return callsite.Caller(skip) }

func TestCallsite(t *testing.T) {
	t.Parallel()
	const line = `callsite_test\.go:\d+`
	nowhere, _ := callsite.Func(reflect.ValueOf((func())(nil)))
	for got, want := range map[string]string{
		callsite.Describe(newShop):        `callsite_test\.newShop \(` + line + `\)`,
		callsite.Describe(func() {}):      `callsite_test\.TestCallsite\.func1 \(` + line + `\)`,
		callsite.Describe(newShop().open): `callsite_test\.\(\*shop\)\.open`,
		here(0):                           `callsite_test\.go:17`,
		here(1):                           line,
		here(1000) + nowhere:              ``,
	} {
		if !regexp.MustCompile(`^` + want + `$`).MatchString(got) {
			t.Errorf("%q, want %s", got, want)
		}
	}
}
