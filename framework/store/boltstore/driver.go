package boltstore

import (
	"context"
	"errors"
	"runtime"
	"strings"

	"github.com/kagami-mcp/kagami/framework/store"
)

// init registers the driver for file:PATH.
func init() { //nolint:gochecknoinits // as drivers of database/sql do
	store.Register("file", func(_ context.Context, url string) (store.Store, error) {
		path := pathOf(url, runtime.GOOS)
		if path == "" {
			return nil, errors.New("boltstore: the URL of a file store: want file:PATH")
		}
		return Open(path)
	})
}

// pathOf returns the path of a URL. On Windows, a URL has a slash before the drive letter.
func pathOf(url, system string) string {
	path := strings.TrimPrefix(strings.TrimPrefix(url, "file:"), "//")
	if system == "windows" && len(path) > 2 && path[0] == '/' && path[2] == ':' {
		return path[1:]
	}
	return path
}
