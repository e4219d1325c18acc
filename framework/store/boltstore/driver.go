package boltstore

import (
	"context"
	"errors"
	"strings"

	"github.com/kagami-mcp/kagami/framework/store"
)

// init registers the driver for file:PATH.
func init() { //nolint:gochecknoinits // as drivers of database/sql do
	store.Register("file", func(_ context.Context, url string) (store.Store, error) {
		path := strings.TrimPrefix(strings.TrimPrefix(url, "file:"), "//")
		if path == "" {
			return nil, errors.New("boltstore: the URL of a file store: want file:PATH")
		}
		return Open(path)
	})
}
