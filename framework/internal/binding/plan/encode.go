package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"sync"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// encoder is the state of one Append.
type encoder struct {
	depth int
	err   error  // the first one, and the last
	at    []step // where it is, from the inside out
	room  []byte // where Encode writes
	bar   func(reflect.Type) error
}

// encoders keeps encoders for later values, to save the allocation of their buffers.
var encoders = sync.Pool{New: func() any { return new(encoder) }}

// maxRoom is the size of the largest buffer that is kept.
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
		e.fail(nil, "the value is nested more than %d deep or contains itself", maxDepth)
	}
	if e.err != nil {
		return false
	}
	e.depth++
	return true
}

// fail records the error and returns dst unchanged.
func (e *encoder) fail(dst []byte, format string, args ...any) []byte {
	return e.wrap(dst, fmt.Errorf(format, args...))
}

// wrap is like fail, but takes an error. The first error is kept.
func (e *encoder) wrap(dst []byte, err error) []byte {
	if e.err == nil {
		e.err = err
	}
	return dst
}

// failed reports whether encoding has failed, and notes the member in the path of the error. The caller then
// stops.
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

// list encodes so many items; item appends one of them.
func (e *encoder) list(dst []byte, size int, item func(dst []byte, i int) []byte) []byte {
	if !e.deeper() {
		return dst
	}
	dst = append(dst, '[')
	for i := range size {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = item(dst, i)
		if e.failedAt(i) {
			return dst
		}
	}
	e.depth--
	return append(dst, ']')
}

// float encodes a number that has so many bits.
func (e *encoder) float(dst []byte, f float64, bits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return e.fail(dst, "%v cannot be represented as a JSON number", f)
	}
	if bits == 32 {
		return jsontext.AppendFloat32(dst, float32(f))
	}
	return jsontext.AppendFloat(dst, f)
}

// raw encodes JSON that a type's own method or the program has written.
func (e *encoder) raw(dst, text []byte) []byte {
	if len(text) == 0 {
		return append(dst, "null"...)
	}
	if err := jsontext.Check(text, jsontext.Limits{Depth: maxDepth}); err != nil {
		return e.wrap(dst, err)
	}
	return jsontext.Compact(dst, text)
}

// dynamic encodes what an interface holds: the common shapes here, anything
// else by encoding/json.
func (e *encoder) dynamic(dst []byte, x any) []byte {
	switch x := x.(type) {
	case nil:
		return append(dst, "null"...)
	case string:
		return jsontext.Quote(dst, x)
	case bool:
		return strconv.AppendBool(dst, x)
	case int:
		return strconv.AppendInt(dst, int64(x), 10)
	case float64:
		return e.float(dst, x, 64)
	case []any:
		return e.list(dst, len(x), func(dst []byte, i int) []byte { return e.dynamic(dst, x[i]) })
	case map[string]any:
		return anyMap.encode(e, dst, reflect.ValueOf(x))
	case json.RawMessage:
		return e.raw(dst, x) // encoding/json refuses an empty one
	}
	return e.foreign(dst, x)
}

// anyMap is an object as encoding/json reads it.
var anyMap = &MapNode{
	typed: typed{reflect.TypeFor[map[string]any]()}, Key: &KeyCodec{T: reflect.TypeFor[string]()},
	Elem: &AnyNode{typed{gotype.EmptyInterface}}, list: reflect.TypeFor[[]any](), rooms: new(sync.Pool),
}

func (e *encoder) foreign(dst []byte, x any) []byte {
	if e.bar != nil {
		if err := e.bar(reflect.TypeOf(x)); err != nil {
			return e.wrap(dst, err)
		}
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(x); err != nil {
		return e.wrap(dst, err)
	}
	return e.raw(dst, buf.Bytes()) // of what RawMessages in it hold, encoding/json checks the syntax only
}
