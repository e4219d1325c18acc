package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Keys of _meta that the specification defines (2026-07-28 basic "_meta"; the last two: 2025-11-25
// basic/utilities/tasks).
const (
	keyVersion        = "io.modelcontextprotocol/protocolVersion"
	keyClientInfo     = "io.modelcontextprotocol/clientInfo"
	keyCapabilities   = "io.modelcontextprotocol/clientCapabilities"
	keyLogLevel       = "io.modelcontextprotocol/logLevel"
	keyServerInfo     = "io.modelcontextprotocol/serverInfo"
	keySubscription   = "io.modelcontextprotocol/subscriptionId"
	keyRelatedTask    = "io.modelcontextprotocol/related-task"
	keyImmediate      = "io.modelcontextprotocol/model-immediate-response"
	extensionTasks    = "io.modelcontextprotocol/tasks"
	completionsAtMost = 100
)

// writer appends JSON in the wire form of one dialect. It keeps the first error. Commas are derived
// from the last byte, so callers may leave out any member.
type writer struct {
	d    *Dialect
	b    []byte
	from int    // length of dst before the first write
	base string // new root of the schema that is being written, as a reference; if "", the default of movedMember
	err  error
}

func (d *Dialect) writer(dst []byte) *writer { return &writer{d: d, b: dst, from: len(dst)} }

// done returns the extended slice. After an error, it returns the original dst and the error.
// Append functions return its results.
func (w *writer) done() ([]byte, error) {
	if w.err != nil {
		return w.b[:w.from], w.err
	}
	return w.b, nil
}

func (w *writer) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("revision %s: "+format, append([]any{w.d.rev}, args...)...)
	}
}

func (w *writer) open(bracket byte) { w.b = append(w.b, bracket) }

func (w *writer) shut(bracket byte) { w.b = append(w.b, bracket) }

// comma writes a comma unless the next member or item is the first.
func (w *writer) comma() {
	if last := w.b[len(w.b)-1]; last != '{' && last != '[' {
		w.b = append(w.b, ',')
	}
}

// key starts a member whose name needs no escaping.
func (w *writer) key(name string) {
	w.comma()
	w.b = append(w.b, '"')
	w.b = append(w.b, name...)
	w.b = append(w.b, '"', ':')
}

// keyOf starts a member with any name.
func (w *writer) keyOf(name string) {
	w.comma()
	w.b = append(jsontext.Quote(w.b, name), ':')
}

func (w *writer) str(name, s string) {
	w.key(name)
	w.b = jsontext.Quote(w.b, s)
}

// text is like str, but writes nothing if s is empty.
func (w *writer) text(name, s string) {
	if s != "" {
		w.str(name, s)
	}
}

// title writes the member title like text, from 2025-06-18 on.
func (w *writer) title(s string) {
	if w.d.titles {
		w.text("title", s)
	}
}

func (w *writer) textPtr(name string, s *string) {
	if s != nil {
		w.str(name, *s)
	}
}

func (w *writer) texts(name string, list []string) {
	w.key(name)
	w.open('[')
	for _, s := range list {
		w.comma()
		w.b = jsontext.Quote(w.b, s)
	}
	w.shut(']')
}

// someTexts is like texts, but writes nothing if the list is empty.
func (w *writer) someTexts(name string, list []string) {
	if len(list) > 0 {
		w.texts(name, list)
	}
}

func (w *writer) boolean(name string, v bool) {
	w.key(name)
	w.b = strconv.AppendBool(w.b, v)
}

// flag is like boolean, but writes nothing if v is false.
func (w *writer) flag(name string, v bool) {
	if v {
		w.boolean(name, true)
	}
}

func (w *writer) boolPtr(name string, v *bool) {
	if v != nil {
		w.boolean(name, *v)
	}
}

func (w *writer) integer(name string, n int64) {
	w.key(name)
	w.b = strconv.AppendInt(w.b, n, 10)
}

// count is like integer, but writes nothing if n is zero.
func (w *writer) count(name string, n int64) {
	if n != 0 {
		w.integer(name, n)
	}
}

func (w *writer) float(name string, f float64) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		w.fail("member %s: JSON has no number %v", name, f)
		return
	}
	w.key(name)
	w.b = appendFloat(w.b, f)
}

func (w *writer) floatPtr(name string, f *float64) {
	if f != nil {
		w.float(name, *f)
	}
}

// when writes a time, unless it is zero.
func (w *writer) when(name string, t time.Time) {
	if t.IsZero() {
		return
	}
	w.key(name)
	w.b = append(w.b, '"')
	w.b = t.UTC().AppendFormat(w.b, time.RFC3339Nano)
	w.b = append(w.b, '"')
}

// raw writes a valid JSON value without line breaks, because a newline ends a frame on stdio
// (2026-07-28 basic/transports/stdio).
func (w *writer) raw(v []byte) {
	if len(v) == 0 {
		w.b = append(w.b, "null"...) // a member must have a value
		return
	}
	if bytes.IndexByte(v, '\n') < 0 && bytes.IndexByte(v, '\r') < 0 {
		w.b = append(w.b, v...)
		return
	}
	w.b = jsontext.Compact(w.b, v)
}

// objectMember writes a member that must be an object, unless v is empty.
func (w *writer) objectMember(name string, v []byte) {
	if len(v) == 0 {
		return
	}
	if jsontext.KindOf(v) != jsontext.KindObject {
		w.fail("member %s must be an object", name)
		return
	}
	w.key(name)
	w.raw(v)
}

// rawMap writes an object of encoded objects, sorted by name. It writes nothing if m is empty.
func (w *writer) rawMap(name string, m map[string]json.RawMessage) {
	if len(m) == 0 {
		return
	}
	w.key(name)
	w.open('{')
	for _, k := range slices.Sorted(maps.Keys(m)) {
		w.keyOf(k)
		w.object(m[k])
	}
	w.shut('}')
}

// object writes an encoded object, or an empty object if v is empty.
func (w *writer) object(v []byte) {
	if jsontext.KindOf(v) != jsontext.KindObject {
		v = []byte("{}")
	}
	w.raw(v)
}

func (w *writer) empty(name string) {
	w.key(name)
	w.b = append(w.b, "{}"...)
}

// emptyIf writes a member with an empty object, which declares a capability, if is is true.
func (w *writer) emptyIf(name string, is bool) {
	if is {
		w.empty(name)
	}
}

// any writes a member with a value from user code.
func (w *writer) any(name string, v any) {
	if raw, ok := v.(json.RawMessage); ok && len(raw) == 0 {
		return // a value that the program left empty is absent
	}
	w.keyOf(name)
	b, err := appendAny(w.b, v)
	w.b = b
	if err != nil {
		w.fail("member %s: %w", name, err)
	}
}

// meta writes the _meta of a component, block or root, from 2025-06-18 on.
func (w *writer) meta(m protocol.Meta) {
	if w.d.metas {
		w.anyMeta(m)
	}
}

// anyMeta writes a _meta that all revisions have, unless it is empty.
func (w *writer) anyMeta(m protocol.Meta) {
	if len(m) > 0 {
		w.any("_meta", map[string]any(m))
	}
}

// metaMembers writes the members of m into a _meta that is already open, except members for
// whose name taken returns true.
func (w *writer) metaMembers(m protocol.Meta, taken func(name string) bool) {
	if len(m) == 0 {
		return
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if !taken(k) {
			w.any(k, m[k])
		}
	}
}

var errUnknownType = errors.New("type is not of package protocol")
