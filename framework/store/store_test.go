package store_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/kagami-mcp/kagami/framework/store"
)

var opened string // the URL that the driver of the test got

// register runs once, because a driver stays registered when the test runs again (-count=2).
var register = sync.OnceFunc(func() {
	store.Register("test", func(_ context.Context, url string) (store.Store, error) {
		opened = url
		return nil, errors.New("not today")
	})
})

func TestOpen(t *testing.T) {
	t.Parallel()
	register()
	if _, err := store.Open(t.Context(), "test://x?y=z"); err == nil || err.Error() != "not today" || opened != "test://x?y=z" {
		t.Errorf("%q, %v", opened, err)
	}
	for url, want := range map[string]string{
		"redis://user:hidden@host/0": "framework/store/redisstore",
		"file:x.db":                  "framework/store/boltstore",
		"sql://user:hidden@host":     `begin with "sql:"`,
		"":                           `begin with ":"`,
	} {
		_, err := store.Open(t.Context(), url)
		unknown, ok := errors.AsType[*store.UnknownError](err)
		if !ok || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hidden") || (unknown.Import != "") != strings.Contains(want, "store/") {
			t.Errorf("%q: %v", url, err)
		}
	}
	for _, again := range []func(){
		func() {
			store.Register("test", func(context.Context, string) (store.Store, error) { return nil, errors.ErrUnsupported })
		},
		func() { store.Register("other", nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a wrong driver is taken")
				}
			}()
			again()
		}()
	}
}
