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

// Keys of _meta that the specification gives a meaning (2026-07-28 basic "_meta";
// the last two: 2025-11-25 basic/utilities/tasks).
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

// writer appends JSON in the form of one dialect. The first error sticks.
// Commas follow from the last byte, so members may be left out freely.
type writer struct {
	d    *Dialect
	b    []byte
	from int    // where b began
	base string // where a schema that is written has moved to, as a reference; "": see movedRef
	err  error
}

func (d *Dialect) writer(dst []byte) *writer { return &writer{d: d, b: dst, from: len(dst)} }

// done is what the Append functions return; after an error that is dst as it was.
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

// comma separates from the member or item before, if there is one.
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

// text is str, left out where s is empty.
func (w *writer) text(name, s string) {
	if s != "" {
		w.str(name, s)
	}
}

// title is text for the member title, which came with 2025-06-18.
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

// someTexts is texts, left out where the list is empty.
func (w *writer) someTexts(name string, list []string) {
	if len(list) > 0 {
		w.texts(name, list)
	}
}

func (w *writer) boolean(name string, v bool) {
	w.key(name)
	w.b = strconv.AppendBool(w.b, v)
}

// flag is boolean, left out where v is false.
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

// count is integer, left out where n is zero.
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

// when writes a time; the zero one is left out.
func (w *writer) when(name string, t time.Time) {
	if t.IsZero() {
		return
	}
	w.key(name)
	w.b = append(w.b, '"')
	w.b = t.UTC().AppendFormat(w.b, time.RFC3339Nano)
	w.b = append(w.b, '"')
}

// raw writes a valid JSON value without line breaks: the newline ends a frame
// on stdio (2026-07-28 basic/transports/stdio).
func (w *writer) raw(v []byte) {
	if len(v) == 0 {
		w.b = append(w.b, "null"...) // no member of a frame is ever without a value
		return
	}
	if bytes.IndexByte(v, '\n') < 0 && bytes.IndexByte(v, '\r') < 0 {
		w.b = append(w.b, v...)
		return
	}
	w.b = jsontext.Compact(w.b, v)
}

// objectMember writes a member that must be an object, left out where v is empty.
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

// rawMap writes an object of ready objects, names sorted; left out where empty.
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

// object writes a ready object, an empty one where v is none.
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

// emptyIf writes an empty object as the sign of a capability.
func (w *writer) emptyIf(name string, is bool) {
	if is {
		w.empty(name)
	}
}

// any writes a member with a value that user code made.
func (w *writer) any(name string, v any) {
	if raw, ok := v.(json.RawMessage); ok && len(raw) == 0 {
		return // what a program leaves empty is absent
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

// anyMeta writes a _meta that all revisions have; left out where empty.
func (w *writer) anyMeta(m protocol.Meta) {
	if len(m) > 0 {
		w.any("_meta", map[string]any(m))
	}
}

// metaMembers writes the members of m into a _meta that is already open, but
// for those that are taken.
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
