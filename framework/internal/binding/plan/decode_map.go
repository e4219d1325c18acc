package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// MapNode is an object with any members, whose names are the keys of a map.
type MapNode struct {
	typed

	Key  *KeyCodec
	Elem Node

	list  reflect.Type // of the elements
	rooms *sync.Pool   // of *mapRoom; nil: what is in them may be kept by the types' own methods
}

func (n *MapNode) decode(d *decoder, raw []byte, v reflect.Value, c *rules.Constraints) {
	raw, fits := d.expect(jsontext.KindObject, n, raw, c)
	if !fits {
		return
	}
	m := reflect.MakeMapWithSize(n.t, min(jsontext.Len(raw), firstItems))
	room := n.room(1)
	defer n.release(room)
	k, value := room.key, room.values.Index(0)
	d.respelled = d.respelled || n.Key.Reads // a key may have several spellings
	pointer, spelled := "", n.Key.Reads && d.keyNames != nil
	if spelled {
		pointer = pointerOf(d.path)
	}
	for key, item := range jsontext.Members(raw) {
		if d.full() {
			return
		}
		name, _ := d.texts.of(key.Raw())
		d.enter(name)
		err := d.unpanicked(n.Key.Read(name, k))
		switch {
		case err != nil:
			d.file(n.badKey(name, err, c))
		case m.MapIndex(k).IsValid():
			d.file(Finding{Issue: report.Issue{Rule: report.RuleDuplicate}, Node: n})
		default:
			value.SetZero()
			d.read(n.Elem, item, value, c.Element())
			m.SetMapIndex(k, value)
			if spelled {
				d.keyNames[keyName{pointer, k.Interface()}] = name
			}
		}
		d.leave()
	}
	v.Set(m)
}

// badKey returns the finding for a member name that is not a key of the map.
func (n *MapNode) badKey(name string, err error, c *rules.Constraints) Finding {
	rule := report.RuleType
	if n.Key.Names != nil {
		rule = report.RuleEnum
	}
	return Finding{
		Issue: report.Issue{Want: n.Key.words(), Hint: safeHint(err, n.Key.T), Rule: rule, Got: "the key " + report.QuoteShort(name)},
		Node:  n, Key: n.Key, Rules: c.KeyRules(),
	}
}

// mapRoom is where one key, and values of a map, are written out of or into it: it keeps
// reflect from making room for each.
type mapRoom struct {
	key     reflect.Value
	values  reflect.Value // a slice
	entries []mapEntry
}

// mapEntry is a member to be written; at is where its value lies.
type mapEntry struct {
	name string
	at   int
}

// maxMapRoom is how many values a room may have that is used again.
const maxMapRoom = 64

// room has zero values for size members.
func (n *MapNode) room(size int) *mapRoom {
	var r *mapRoom
	if n.rooms != nil {
		r, _ = n.rooms.Get().(*mapRoom)
	}
	if r == nil {
		r = &mapRoom{key: reflect.New(n.Key.T).Elem(), values: reflect.New(n.list).Elem()}
	}
	r.values.Grow(size)
	r.values.SetLen(size)
	return r
}

// release forgets what was in the room.
func (n *MapNode) release(r *mapRoom) {
	if n.rooms == nil || r.values.Cap() > maxMapRoom {
		return
	}
	r.key.SetZero()
	r.values.Clear()
	r.values.SetLen(0)
	clear(r.entries)
	r.entries = r.entries[:0]
	n.rooms.Put(r)
}

// collect puts the members of v into the room, by name.
func (n *MapNode) collect(r *mapRoom, v reflect.Value) error {
	r.entries = slices.Grow(r.entries, v.Len())
	for iter := v.MapRange(); iter.Next(); {
		r.key.SetIterKey(iter)
		name, err := n.Key.write(r.key)
		if err == nil && !n.Key.allows(name) {
			err = fmt.Errorf("%q is not one of the values of %s", jsontext.Clip(name, 40), n.Key.T)
		}
		if err != nil {
			return fmt.Errorf("map key: %w", err)
		}
		r.values.Index(len(r.entries)).SetIterValue(iter)
		r.entries = append(r.entries, mapEntry{name, len(r.entries)})
	}
	slices.SortFunc(r.entries, func(a, b mapEntry) int { return strings.Compare(a.name, b.name) })
	return nil
}

func (n *MapNode) encode(e *encoder, dst []byte, v reflect.Value) []byte {
	if v.Len() == 0 {
		return append(dst, "{}"...)
	}
	if !e.deeper() {
		return dst
	}
	room := n.room(v.Len())
	defer n.release(room)
	if err := n.collect(room, v); err != nil {
		return e.wrap(dst, err)
	}
	dst = append(dst, '{')
	for i, item := range room.entries {
		if i > 0 {
			dst = append(dst, ',')
			if item.name == room.entries[i-1].name {
				return e.fail(dst, "two map keys are written as %q", item.name)
			}
		}
		dst = jsontext.Quote(dst, item.name)
		dst = n.Elem.encode(e, append(dst, ':'), room.values.Index(item.at))
		if e.failed(item.name) {
			return dst
		}
	}
	e.depth--
	return append(dst, '}')
}

func (n *MapNode) schema(s *schemer, c *rules.Constraints) schema.Keywords {
	k := schema.Typed("object")
	k.Set("additionalProperties", s.text(n.Elem, c.Element()))
	names := n.Key.schema(s.mode)
	n.Key.apply(c.KeyRules(), &names)
	if len(names) > 0 {
		k.Set("propertyNames", names.Render())
	}
	return k
}
