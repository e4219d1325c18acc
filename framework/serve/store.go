package serve

import (
	"context"
	"io"
	neturl "net/url"
	"strconv"
	"strings"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/boltstore"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/framework/store/redisstore"
)

// store is a store that this program has opened.
type store interface {
	framework.Store
	io.Closer
}

// open opens the store that --store names.
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
		address, prefix := withoutPrefix(url)
		if prefix == "" {
			return redisstore.Open(ctx, address)
		}
		return redisstore.Open(ctx, address, redisstore.Prefix(prefix))
	}
	return nil, usagef("--store: want file:PATH, redis://HOST:PORT/DB or memory: (Sentinel and Cluster take framework.WithStore and redisstore.New)") // the URL may hold a password
}

// withoutPrefix takes ?prefix= out of a URL. Different programs on one Redis need different
// prefixes for their keys.
func withoutPrefix(address string) (rest, prefix string) {
	u, err := neturl.Parse(address)
	if err != nil {
		return address, "" // whoever opens it says what is wrong
	}
	q := u.Query()
	if prefix = q.Get("prefix"); prefix == "" {
		return address, ""
	}
	q.Del("prefix")
	u.RawQuery = q.Encode()
	return u.String(), prefix
}

// inMemory is a store that needs no closing.
type inMemory struct{ *memory.Store }

// Close does nothing.
func (inMemory) Close() error { return nil }
