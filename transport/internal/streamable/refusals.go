package streamable

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/transport/internal/hostcall"
)

// refusedName returns the reply to a request with a host name or origin that option does not allow,
// and logs the name. Behind a proxy this is the first problem that most users have.
func refusedName(logs *hostcall.Log, what, name, option string) *Reply {
	name = jsontext.Clip(strings.ToValidUTF8(name, "?"), 100)
	logs.Warn(fmt.Sprintf("a request was refused for its %s %q: to let it in, add it to %s", what, strings.ToLower(withoutPort(name)), option), "")
	return refuse(http.StatusForbidden, fmt.Sprintf("the %s %q may not call this server", what, name))
}

// withoutPort removes the port of a host name, because any port of a name is refused for the same
// reason. Origins stay as they are: each port is another origin.
func withoutPort(name string) string {
	if strings.Contains(name, "://") {
		return name
	}
	return cmp.Or(hostname(name), name)
}
