package serve

import (
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/boltstore"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/framework/store/redisstore"
	"github.com/kagami-mcp/kagami/transport"
)

// store is one that this program has opened.
type store interface {
	framework.Store
	io.Closer
}

// open makes the store of --store.
func open(ctx context.Context, url string) (store, error) {
	scheme, rest, _ := strings.Cut(url, ":")
	switch scheme {
	case "memory":
		return inMemory{memory.New()}, nil
	case "file":
		path := strings.TrimPrefix(rest, "//")
		if path == "" {
			return nil, usagef("--store %s: want file:PATH", strconv.Quote(url))
		}
		return boltstore.Open(path)
	case "redis", "rediss", "unix":
		return redisstore.Open(ctx, url)
	}
	return nil, usagef("--store: want file:PATH, redis://HOST:PORT/DB or memory:") // the URL may hold a password
}

// inMemory needs no closing.
type inMemory struct{ *memory.Store }

// Close does nothing.
func (inMemory) Close() error { return nil }

// idle is the carrier of a worker, which serves nobody.
type idle struct{}

// Serve waits for the end.
func (idle) Serve(ctx context.Context, _ transport.Host) error {
	<-ctx.Done()
	return nil
}
