// Package store opens stores by URL. A program contains a store only if it imports the store's
// package, because the client of a database is larger than an MCP server:
//
//	import _ "github.com/kagami-mcp/kagami/framework/store/boltstore"  // file:PATH
//	import _ "github.com/kagami-mcp/kagami/framework/store/redisstore" // redis://HOST:PORT/DB
//
// Programs that use package serve open the store of the flag --store. Others call [Open], or the
// constructor in the store's own package, which has options.
package store

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// Store is a framework.Store that its user closes.
type Store interface {
	Sessions() session.Store
	Tasks() task.Store
	Events() eventlog.Store
	Changes() change.Bus
	io.Closer
}

var (
	mu      sync.RWMutex // guards drivers
	drivers = map[string]func(ctx context.Context, url string) (Store, error){}
)

// Register sets the driver for a scheme, in lower case. The driver opens the store at a URL of that
// scheme. Packages of stores call Register when they are initialized. Register panics if open is
// nil, or if the scheme is empty or already has a driver.
func Register(scheme string, open func(ctx context.Context, url string) (Store, error)) {
	mu.Lock()
	defer mu.Unlock()
	if open == nil || scheme == "" || drivers[scheme] != nil {
		panic(fmt.Sprintf("store: the driver for %q is nil, or there are two", scheme))
	}
	drivers[scheme] = open
}

// ours maps schemes to the packages of Kagami that have a driver for them.
var ours = map[string]string{
	"file": "boltstore", "redis": "redisstore", "rediss": "redisstore", "unix": "redisstore",
}

// UnknownError is the error for a scheme without a driver in the program.
type UnknownError struct {
	Scheme string
	Import string // path of a package with a driver; empty if Kagami has none
}

// Error names the missing import. It does not contain the URL, which may hold a password.
func (e *UnknownError) Error() string {
	if e.Import == "" {
		return fmt.Sprintf("no store has URLs that begin with %q", e.Scheme+":")
	}
	return fmt.Sprintf("this program has no store for %q: add import _ %q to its main package", e.Scheme+":", e.Import)
}

// Open opens the store at a URL, with the driver of the URL's scheme. If there is no driver, it
// returns an [*UnknownError]; otherwise it returns the driver's error. The caller closes the store.
func Open(ctx context.Context, url string) (Store, error) {
	scheme, _, _ := strings.Cut(url, ":")
	mu.RLock()
	open := drivers[scheme]
	mu.RUnlock()
	if open != nil {
		return open(ctx, url)
	}
	e := &UnknownError{Scheme: scheme}
	if name := ours[scheme]; name != "" {
		e.Import = "github.com/kagami-mcp/kagami/framework/store/" + name
	}
	return nil, e
}
