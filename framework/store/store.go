// Package store opens stores by URL. A store is linked into a program only if the program imports
// its package, since the client of a database is larger than a server of MCP:
//
//	import _ "github.com/kagami-mcp/kagami/framework/store/boltstore"  // file:PATH
//	import _ "github.com/kagami-mcp/kagami/framework/store/redisstore" // redis://HOST:PORT/DB
//
// Programs of package serve open the store that --store names. Others call [Open], or the package of
// the store itself, which has options.
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

// Driver opens the store at a URL of its scheme.
type Driver func(ctx context.Context, url string) (Store, error)

var (
	mu      sync.RWMutex // guards drivers
	drivers = map[string]Driver{}
)

// Register makes a driver known for a scheme, in lower case. The packages of stores call it when
// they are initialized. A scheme that has a driver already is a panic.
func Register(scheme string, open Driver) {
	mu.Lock()
	defer mu.Unlock()
	if open == nil || scheme == "" || drivers[scheme] != nil {
		panic(fmt.Sprintf("store: the driver for %q is nil, or there are two", scheme))
	}
	drivers[scheme] = open
}

// ours are the packages with the drivers of Kagami.
var ours = map[string]string{
	"file": "boltstore", "redis": "redisstore", "rediss": "redisstore", "unix": "redisstore",
}

// UnknownError says that no driver is linked for a scheme.
type UnknownError struct {
	Scheme string
	Import string // path of a package that has one; empty if Kagami has none
}

// Error names the import that is missing. It does not repeat the URL, which may hold a password.
func (e *UnknownError) Error() string {
	if e.Import == "" {
		return fmt.Sprintf("no store has URLs that begin with %q", e.Scheme+":")
	}
	return fmt.Sprintf("this program has no store for %q: add import _ %q to its main package", e.Scheme+":", e.Import)
}

// Open opens the store at a URL, by the driver of its scheme. The error is an [*UnknownError], or
// the driver's. The caller closes the store.
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
