package streamable

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// maxRefusals bounds the number of names in warnings, because any client can send
// one.
const maxRefusals = 64

// refusals logs host names and origins that were refused, once each. Behind a proxy this is the
// first problem that most users have.
type refusals struct {
	warn func(text string) // may be nil

	mu    sync.Mutex // guards names
	names map[string]struct{}
}

// refuse returns the reply to a request whose host name or origin is not allowed by option.
func (f *refusals) refuse(what, name, option string) *Reply {
	name = jsontext.Clip(strings.ToValidUTF8(name, "?"), 100)
	if f.isNew(what + name) {
		f.warn(fmt.Sprintf("a request was refused for its %s %q: to let it in, add it to %s", what, name, option))
	}
	return refuse(http.StatusForbidden, fmt.Sprintf("the %s %q may not call this server", what, name))
}

// isNew reports whether to log a warning for name.
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
	f.names[strings.Clone(name)] = struct{}{} // must not keep the request's memory
	return true
}
