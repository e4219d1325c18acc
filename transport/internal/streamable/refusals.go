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
	if n := f.count(what + strings.ToLower(withoutPort(name))); n > 0 {
		text := fmt.Sprintf("a request was refused for its %s %q: to let it in, add it to %s", what, name, option)
		if n == maxRefusals {
			text += "; further names are refused without a warning"
		}
		f.warn(text)
	}
	return refuse(http.StatusForbidden, fmt.Sprintf("the %s %q may not call this server", what, name))
}

// withoutPort removes the port of a host name, because any port of a name is refused for the same
// reason. Origins stay as they are: each port is another origin.
func withoutPort(name string) string {
	if strings.Contains(name, "://") {
		return name
	}
	return hostname(name)
}

// count returns the number of names with a warning if name is a new one of them, or 0 if there is
// no warning for it.
func (f *refusals) count(name string) int {
	if f.warn == nil {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, known := f.names[name]; known || len(f.names) >= maxRefusals {
		return 0
	}
	if f.names == nil {
		f.names = make(map[string]struct{})
	}
	f.names[strings.Clone(name)] = struct{}{} // must not keep the request's memory
	return len(f.names)
}
