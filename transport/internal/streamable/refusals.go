package streamable

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// maxRefusals bounds the names that are warned of: strangers choose them.
const maxRefusals = 64

// refusals warns whoever runs the server of names that it refuses, once for each: behind a proxy that
// is the first thing that everybody meets.
type refusals struct {
	warn func(text string) // nil: nobody takes warnings

	mu    sync.Mutex // guards names
	names map[string]struct{}
}

// refuse is the reply to a request whose name, of a host or an origin, is not among those of option.
func (f *refusals) refuse(what, name, option string) *Reply {
	name = jsontext.Clip(strings.ToValidUTF8(name, "?"), 100)
	if f.isNew(what + name) {
		f.warn(fmt.Sprintf("a request was refused for its %s %q: to let it in, add it to %s", what, name, option))
	}
	return refuse(http.StatusForbidden, fmt.Sprintf("the %s %q may not call this server", what, name))
}

// isNew reports whether name is to be warned of.
func (f *refusals) isNew(name string) bool {
	if f.warn == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, known := f.names[name]; known || len(f.names) >= maxRefusals {
		return false
	}
	if f.names == nil {
		f.names = make(map[string]struct{})
	}
	f.names[strings.Clone(name)] = struct{}{} // not the request's memory
	return true
}
