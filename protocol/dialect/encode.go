package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

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

// done returns the extended slice. After an error, it returns the original dst and the error, which
// names the revision. Append functions return its results.
func (w *writer) done() ([]byte, error) {
	if w.err != nil {
		return w.b[:w.from], w.d.lacks(w.err)
	}
	return w.b, nil
}

// ended returns the extended slice and the error. Functions of kinds return its results.
func (w *writer) ended() ([]byte, error) { return w.b, w.err }

// take continues with the results of a function of a kind or a table.
func (w *writer) take(b []byte, err error) {
	w.b = b
	if w.err == nil {
		w.err = err
	}
}

// write writes t as an object.
func write[T any](w *writer, ms members[T], t *T) { w.take(ms.append(w.d, w.b, t)) }

// writeInto writes the members of t into an object that is already open.
func writeInto[T any](w *writer, ms members[T], t *T) { w.take(ms.appendInto(w.d, w.b, t)) }

func (w *writer) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

func (w *writer) open(bracket byte) { w.b = append(w.b, bracket) }

func (w *writer) shut(bracket byte) { w.b = append(w.b, bracket) }

// comma appends a comma unless the next member or item is the first.
func comma(dst []byte) []byte {
	if last := dst[len(dst)-1]; last != '{' && last != '[' {
		dst = append(dst, ',')
	}
	return dst
}

func (w *writer) comma() { w.b = comma(w.b) }

// appendKey starts a member whose name needs no escaping.
func appendKey(dst []byte, name string) []byte {
	dst = append(comma(dst), '"')
	dst = append(dst, name...)
	return append(dst, '"', ':')
}

func (w *writer) key(name string) { w.b = appendKey(w.b, name) }

// keyOf starts a member with any name.
func (w *writer) keyOf(name string) {
	w.comma()
	w.b = append(jsontext.Quote(w.b, name), ':')
}

func (w *writer) str(name, s string) {
	w.key(name)
	w.b = jsontext.Quote(w.b, s)
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

// appendRaw appends a valid JSON value without line breaks, because a newline ends a frame on stdio
// (2026-07-28 basic/transports/stdio). An empty value is null, because a member must have a value.
func appendRaw(dst, v []byte) []byte {
	if len(v) == 0 {
		return append(dst, "null"...)
	}
	if bytes.IndexByte(v, '\n') < 0 && bytes.IndexByte(v, '\r') < 0 {
		return append(dst, v...)
	}
	return jsontext.Compact(dst, v)
}

func (w *writer) raw(v []byte) { w.b = appendRaw(w.b, v) }

// appendObject appends an encoded object, or an empty object if v is not one.
func appendObject(dst []byte, v json.RawMessage) []byte {
	if jsontext.KindOf(v) != jsontext.KindObject {
		v = []byte("{}")
	}
	return appendRaw(dst, v)
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

// meta writes the _meta of a component, block or root, from 2025-06-18 on, unless it is empty.
func (w *writer) meta(m protocol.Meta) {
	if extended.has(w.d) && len(m) > 0 {
		w.any("_meta", map[string]any(m))
	}
}

// metaMembers writes the members of m into a _meta that is already open. Then it writes the members of
// the object raw that m does not have. It leaves out a member if taken returns true for its name.
func (w *writer) metaMembers(m protocol.Meta, raw []byte, taken func(name string) bool) {
	if len(m) == 0 && raw == nil {
		return
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if !taken(k) {
			w.any(k, m[k])
		}
	}
	for key, v := range jsontext.Members(raw) {
		name := key.String()
		if _, written := m[name]; !written && !taken(name) {
			w.keyOf(name)
			w.raw(v)
		}
	}
}
