package redisstore

import (
	"context"
	"net/url"

	"github.com/kagami-mcp/kagami/framework/store"
)

// init registers the driver for redis://, rediss:// and unix://, with the URLs that Open takes. The
// driver also reads the parameter prefix, because programs that share a Redis need different
// prefixes for their keys.
func init() { //nolint:gochecknoinits // as drivers of database/sql do
	for _, scheme := range []string{"redis", "rediss", "unix"} {
		store.Register(scheme, func(ctx context.Context, address string) (store.Store, error) {
			address, prefix := withoutPrefix(address)
			if prefix == "" {
				return Open(ctx, address)
			}
			return Open(ctx, address, Prefix(prefix))
		})
	}
}

// withoutPrefix removes ?prefix= from a URL.
func withoutPrefix(address string) (rest, prefix string) {
	u, err := url.Parse(address)
	if err != nil {
		return address, "" // Open reports the error
	}
	q := u.Query()
	if prefix = q.Get("prefix"); prefix == "" {
		return address, ""
	}
	q.Del("prefix")
	u.RawQuery = q.Encode()
	return u.String(), prefix
}
