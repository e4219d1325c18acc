package place_test

import (
	"reflect"
	"regexp"
	"testing"

	"github.com/kagami-mcp/kagami/framework/internal/place"
)

type shop struct{}

func (*shop) open() {}

func newShop() *shop { return &shop{} }

func here(skip int) string { return place.Caller(skip) }

func TestPlace(t *testing.T) {
	t.Parallel()
	const line = `place_test\.go:\d+`
	nowhere, _ := place.Func(reflect.ValueOf((func())(nil)))
	for got, want := range map[string]string{
		place.Describe(newShop):        `place_test\.newShop \(` + line + `\)`,
		place.Describe(func() {}):      `place_test\.TestPlace\.func1 \(` + line + `\)`,
		place.Describe(newShop().open): `place_test\.\(\*shop\)\.open`,
		here(0):                        `place_test\.go:17`,
		here(1):                        line,
		here(1000) + nowhere:           ``,
	} {
		if !regexp.MustCompile(`^` + want + `$`).MatchString(got) {
			t.Errorf("%q, want %s", got, want)
		}
	}
}
