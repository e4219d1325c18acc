package serve

import (
	"context"
	"errors"
	"strings"

	"github.com/kagami-mcp/kagami/framework/store"
	"github.com/kagami-mcp/kagami/framework/store/memory"
)

// open opens the store at the URL of --store. The in-memory store is always available; other stores
// need their driver's import.
func open(ctx context.Context, url string) (store.Store, error) {
	scheme, rest, _ := strings.Cut(url, ":")
	switch {
	case scheme == "memory":
		return inMemory{memory.New()}, nil
	case scheme == "file" && strings.Trim(rest, "/") == "":
		return nil, usagef("--store %q: want file:PATH", url)
	}
	s, err := store.Open(ctx, url)
	unknown, ok := errors.AsType[*store.UnknownError](err)
	switch {
	case ok && unknown.Import == "":
		return nil, usagef("--store: want file:PATH, redis://HOST:PORT/DB or memory: (Sentinel and Cluster take framework.WithStore and redisstore.New)") // the URL may hold a password
	case ok:
		return nil, usagef("--store: %v", err)
	}
	return s, err
}

// inMemory is a store that does not need to be closed.
type inMemory struct{ *memory.Store }

// Close does nothing.
func (inMemory) Close() error { return nil }
