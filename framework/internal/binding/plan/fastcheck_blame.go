package plan

import (
	"reflect"

	"github.com/go-playground/validator/v10"

	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// askRules has the fast check judge a member that was read, and files what is wrong.
//
// Validator looks at a whole value and describes all of its faults, which costs ten times as much as reading
// it. So it is asked only about the values that the fast checks do not accept, one by one.
func (f *Member) askRules(d *decoder, owner *StructNode, raw []byte, v reflect.Value) {
	if !d.plan.quick || f.fast == nil || jsontext.KindOf(raw) == jsontext.KindNull {
		return
	}
	switch said := f.fast.Judge(v); {
	case said == rules.Accepted:
	case d.unjudged:
		d.doubt = true
	default:
		l := locator{n: f.Node, c: f.Rules, f: f, owner: owner, secret: d.secret}
		d.blame(blamed{l, f.fast, false}, said, raw, v)
	}
}

// blamed is a value that broke a rule, or contains one that did. element is set if it is in a list or map.
type blamed struct {
	locator
	fast    *rules.FastCheck
	element bool
}

// blame files what is wrong with v, the value at the current path, and inside of it. If it cannot, it leaves
// the whole value to validator.
func (d *decoder) blame(b blamed, said rules.Judgment, raw []byte, v reflect.Value) {
	b.n = seenThrough(b.n)
	if jsontext.KindOf(raw) == jsontext.KindNull || said == rules.Refused && d.unreadable(b.n) {
		return
	}
	below := -1 // how many values inside are judged: all
	if said == rules.Refused {
		rule, ok := d.plan.ask1(b.c, v, b.element)
		if !ok {
			d.doubt = true
			return
		}
		d.fileBroken(b.finding(d.plan, pointerOf(d.path), rule, raw, true))
		if !b.element && string(raw) == `""` {
			d.mayDrop(b.f)
		}
		below = maxFindings // a long list has most likely too many items
	}
	if value := behind(v); b.fast.Inside() && value.IsValid() {
		d.blameInside(b, raw, value, below)
	}
}

// behind returns the value that the pointers and interfaces of v lead to, or the zero Value if one of them is nil.
func behind(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v
}

// blameInside is blame for the items of a list, or the entries of a map.
func (d *decoder) blameInside(b blamed, raw []byte, v reflect.Value, below int) {
	if inner, ok := jsonedit.Unquoted(raw, jsontext.KindObject, jsontext.KindArray); ok {
		raw = inner
	}
	switch n := b.n.(type) {
	case *ListNode:
		if below < 0 || !n.fixed() {
			d.blameItems(b, n.Elem, raw, v, below)
		}
	case *MapNode:
		if below < 0 || v.Len() <= below {
			d.blameEntries(b, n, raw, v)
		}
	default:
		d.doubt = true
	}
}

func (d *decoder) blameItems(b blamed, elem Node, raw []byte, v reflect.Value, below int) {
	b.n, b.c, b.fast, b.element = elem, b.c.Elem, b.fast.Elem(), true
	i := 0
	for item := range jsontext.Elements(raw) {
		if i == below || i == v.Len() || d.full() {
			return
		}
		if said := b.fast.Judge(v.Index(i)); said != rules.Accepted {
			d.enterIndex(i)
			d.blame(b, said, item, v.Index(i))
			d.leave()
		}
		i++
	}
}

func (d *decoder) blameEntries(b blamed, n *MapNode, raw []byte, v reflect.Value) {
	keys, names := b.fast.Keys(), b.c.Keys
	b.n, b.c, b.fast, b.element = n.Elem, b.c.Elem, b.fast.Elem(), true
	k := reflect.New(n.Key.T).Elem()
	for key, item := range jsontext.Members(raw) {
		if d.full() {
			return
		}
		name := key.String()
		if n.Key.Read(name, k) != nil {
			continue // this is a finding
		}
		d.enter(name)
		if !keys.Accepts(k) {
			d.blameKey(b.locator, n.Key, names, item, k)
		}
		if value := v.MapIndex(k); !value.IsValid() {
			d.doubt = true // the key is not equal to itself if it is read twice, as a time with an offset
		} else if said := b.fast.Judge(value); said != rules.Accepted {
			d.blame(b, said, item, value)
		}
		d.leave()
	}
}

// blameKey files a key that broke a rule.
func (d *decoder) blameKey(l locator, codec *KeyCodec, names *rules.Constraints, item []byte, k reflect.Value) {
	l.n, l.key, l.keys = seenThrough(l.n), codec, names
	if d.unreadable(l.n) {
		return
	}
	rule, ok := d.plan.ask1(names, k, true)
	if !ok {
		d.doubt = true
		return
	}
	d.fileBroken(l.finding(d.plan, pointerOf(d.path), rule, item, true))
}

// unreadable reports whether the value at the current path could not be read as n.
func (d *decoder) unreadable(n Node) bool {
	if len(d.found) == 0 {
		return false
	}
	path := pointerOf(d.path)
	return faulty(d.found, path) || d.lostKeys(path, n)
}

func (d *decoder) fileBroken(f Finding) {
	d.size += len(f.Path)
	d.broken = append(d.broken, f)
}

// ask1 asks validator which of the rules of one value fails, without the rules of the values inside. It returns
// false if validator names none.
func (p *Plan) ask1(c *rules.Constraints, v reflect.Value, element bool) (rule string, ok bool) {
	failed, err := p.ask(p.rules, func(judge *validator.Validate) error { return judge.Var(v.Interface(), c.OwnTag(v.Type(), element)) })
	if err != nil || len(failed) == 0 {
		return "", false
	}
	return failed[0].ActualTag(), true
}
