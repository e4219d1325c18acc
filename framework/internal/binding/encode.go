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
	path  []step
	depth int
	err   error  // the first one
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
	*e = encoder{path: forgotten(e.path), room: e.room}
	encoders.Put(e)
}

// maxDepth ends the encoding of a value that contains itself.
const maxDepth = 1000

func (e *encoder) enter(name string) { e.path = append(e.path, step{name: name, member: true}) }
func (e *encoder) leave()            { e.path = e.path[:len(e.path)-1] }

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

// wrap keeps the first error, with its path.
func (e *encoder) wrap(err error) {
	if e.err != nil {
		return
	}
	path := pointerOf(e.path)
	if len(e.path) > 20 {
		path = pointerOf(e.path[:20]) + "/..."
	}
	if path == "" {
		e.err = err
		return
	}
	e.err = fmt.Errorf("%s: %w", path, err)
}

// array encodes a slice or array; nil is empty.
func (e *encoder) array(elem node, v reflect.Value) {
	if !e.deeper() {
		return
	}
	e.dst = append(e.dst, '[')
	e.path = append(e.path, step{})
	for i := range v.Len() {
		if i > 0 {
			e.dst = append(e.dst, ',')
		}
		e.path[len(e.path)-1].index = i
		elem.encode(e, v.Index(i))
	}
	e.leave()
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
	e.path = append(e.path, step{})
	for i, item := range items {
		if i > 0 {
			e.dst = append(e.dst, ',')
		}
		e.path[len(e.path)-1].index = i
		e.dynamic(item)
	}
	e.leave()
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
		e.enter(name)
		e.dynamic(m[name])
		e.leave()
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
