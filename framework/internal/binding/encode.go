package binding

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// encoder is the state of one Append.
type encoder struct {
	dst   []byte
	depth int
	err   error  // the first one, and the last
	at    []step // where it is, from the inside out
	room  []byte // where Encode writes
}

// encoders are used again, for the room they have. Nobody else sees it.
var encoders = sync.Pool{New: func() any { return new(encoder) }}

// maxRoom is the longest text for which room is kept.
const maxRoom = 64 << 10

func (e *encoder) release() {
	if cap(e.room) > maxRoom {
		e.room = nil
	}
	*e = encoder{room: e.room}
	encoders.Put(e)
}

// maxDepth ends the encoding of a value that contains itself.
const maxDepth = 1000

// deeper reports whether one more level may be entered; the caller leaves it by
// decrementing depth.
func (e *encoder) deeper() bool {
	if e.depth >= maxDepth {
		e.fail("the value is nested more than %d deep or contains itself", maxDepth)
	}
	if e.err != nil {
		return false
	}
	e.depth++
	return true
}

func (e *encoder) fail(format string, args ...any) { e.wrap(fmt.Errorf(format, args...)) }

// wrap keeps the first error.
func (e *encoder) wrap(err error) {
	if e.err == nil {
		e.err = err
	}
}

// failed says whether there is an error in the member that was just encoded, and that it is
// there: who asks ends.
func (e *encoder) failed(member string) bool {
	return e.err != nil && e.noted(step{name: member, member: true})
}

// failedAt is failed for an element.
func (e *encoder) failedAt(index int) bool { return e.err != nil && e.noted(step{index: index}) }

func (e *encoder) noted(s step) bool {
	e.at = append(e.at, s)
	return true
}

// fault is the error with its path.
func (e *encoder) fault() error {
	if len(e.at) == 0 {
		return e.err
	}
	slices.Reverse(e.at)
	path := pointerOf(e.at[:min(len(e.at), 20)])
	if len(e.at) > 20 {
		path += "/..."
	}
	return fmt.Errorf("%s: %w", path, e.err)
}

// array encodes a slice or array; nil is empty.
func (e *encoder) array(elem node, v reflect.Value) {
	if !e.deeper() {
		return
	}
	e.dst = append(e.dst, '[')
	for i := range v.Len() {
		if i > 0 {
			e.dst = append(e.dst, ',')
		}
		if elem.encode(e, v.Index(i)); e.failedAt(i) {
			return
		}
	}
	e.dst = append(e.dst, ']')
	e.depth--
}

// raw encodes JSON that somebody else wrote.
func (e *encoder) raw(text []byte) {
	if len(text) == 0 {
		e.dst = append(e.dst, "null"...)
		return
	}
	if err := jsontext.Check(text, jsontext.Limits{Depth: maxDepth}); err != nil {
		e.wrap(err)
		return
	}
	e.dst = jsontext.Compact(e.dst, text)
}

// dynamic encodes what an interface holds: the common shapes here, anything
// else by encoding/json.
func (e *encoder) dynamic(x any) {
	switch x := x.(type) {
	case nil:
		e.dst = append(e.dst, "null"...)
	case string:
		e.dst = jsontext.Quote(e.dst, x)
	case bool:
		e.dst = fmt.Append(e.dst, x)
	case int:
		e.dst = fmt.Append(e.dst, x)
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			e.fail("%v is no number in JSON", x)
			return
		}
		e.dst = appendFloat(e.dst, x, 64)
	case []any:
		e.dynamicList(x)
	case map[string]any:
		e.dynamicMap(x)
	default:
		e.foreign(x)
	}
}

func (e *encoder) dynamicList(items []any) {
	if !e.deeper() {
		return
	}
	e.dst = append(e.dst, '[')
	for i, item := range items {
		if i > 0 {
			e.dst = append(e.dst, ',')
		}
		if e.dynamic(item); e.failedAt(i) {
			return
		}
	}
	e.dst = append(e.dst, ']')
	e.depth--
}

func (e *encoder) dynamicMap(m map[string]any) {
	if !e.deeper() {
		return
	}
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	e.dst = append(e.dst, '{')
	for i, name := range names {
		if i > 0 {
			e.dst = append(e.dst, ',')
		}
		e.dst = jsontext.Quote(e.dst, name)
		e.dst = append(e.dst, ':')
		if e.dynamic(m[name]); e.failed(name) {
			return
		}
	}
	e.dst = append(e.dst, '}')
	e.depth--
}

func (e *encoder) foreign(x any) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(x); err != nil {
		e.wrap(err)
		return
	}
	e.dst = append(e.dst, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}
