package plan

import (
	"encoding"
	"encoding/json"
	"errors"
	"reflect"

	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// errUnreadable is the error for a value that its type does not accept. It adds nothing to the words for what is
// wanted.
var errUnreadable = errors.New("unreadable")

type codec uint8

const (
	byShape codec = iota // as its kind
	byJSON               // by UnmarshalJSON or MarshalJSON
	byText               // by UnmarshalText or MarshalText
)

// MethodNode is a type that marshals itself in at least one direction.
type MethodNode struct {
	typed

	mode        Mode
	read, write codec
	big         bool // it holds numbers of package math/big
	Base        Node // for the direction that goes by shape; nil if there is none
}

// shown returns the codec whose form the schema shows.
func (n *MethodNode) shown() codec {
	if n.mode == Output {
		return n.write
	}
	return n.read
}

// ByKind reports whether values are read and described by the type's kind, without its methods.
func (n *MethodNode) ByKind() bool { return n.shown() == byShape }

func (n *MethodNode) decode(d *decoder, raw []byte, v reflect.Value, c *rules.Constraints) {
	var err error
	switch n.read {
	case byJSON:
		if !d.unique(raw, n) {
			return
		}
		err = callJSON(v, raw, n.big)
	case byText:
		text, ok := jsontext.String(raw)
		if !ok {
			d.refuse(report.RuleType, n, raw, c)
			return
		}
		err = callText(v, text, n.big)
	default:
		if n.Base == nil {
			err = errUnreadable
			break
		}
		n.Base.decode(d, raw, v, c)
		return
	}
	if err == nil {
		return
	}
	hint := n.hint(d.unpanicked(err))
	if d.secret {
		hint = ""
	}
	d.refuseWith(report.RuleCustom, hint, n, raw, c)
}

// callJSON runs the user's UnmarshalJSON on bytes that it may keep. big is as in callText.
func callJSON(v reflect.Value, raw []byte, big bool) (err error) {
	if big && absurdJSON(raw) {
		return errUnreadable
	}
	defer report.Recovered(&err)
	return v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(append([]byte(nil), raw...))
}

// absurdJSON reports whether raw is a number, or a text that begins like one, with an exponent
// beyond the bound of numbers.
func absurdJSON(raw []byte) bool {
	switch jsontext.KindOf(raw) {
	case jsontext.KindNumber:
		return absurd(string(raw))
	case jsontext.KindString:
		text, _ := jsontext.String(raw)
		return absurd(text)
	}
	return false
}

// callText reads text by the type's own method, unless the schema of the type
// refuses the text. If big is set, the type has numbers of
// package math/big, which write an exponent out.
func callText(v reflect.Value, text string, big bool) (err error) {
	if form, ok := TextForms[v.Type()]; ok && !form.legal(text) || big && absurd(text) {
		return errUnreadable
	}
	defer report.Recovered(&err)
	return v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text))
}

func (n *MethodNode) encode(e *encoder, dst []byte, v reflect.Value) []byte {
	// A pointer receiver is honored on any value: encoding/json does so only
	// if it happens to be addressable, and the schema cannot depend on that.
	switch n.write {
	case byJSON:
		raw, err := addressable(v).Interface().(json.Marshaler).MarshalJSON()
		if err != nil {
			return e.wrap(dst, err)
		}
		return e.raw(dst, raw)
	case byText:
		text, err := addressable(v).Interface().(encoding.TextMarshaler).MarshalText()
		if err != nil {
			return e.wrap(dst, err)
		}
		return jsontext.QuoteBytes(dst, text)
	default:
		if n.Base == nil {
			return e.fail(dst, "type %s has no JSON form", n.t)
		}
		return n.Base.encode(e, dst, v)
	}
}

// addressable is a pointer to v, or to a copy of it.
func addressable(v reflect.Value) reflect.Value {
	if v.CanAddr() {
		return v.Addr()
	}
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	return p
}

func (n *MethodNode) schema(s *schemer, c *rules.Constraints) schema.Keywords {
	switch n.shown() {
	case byText:
		return textSchema(n.t, n.mode)
	case byJSON:
		return nil
	default:
		return n.Base.schema(s, c)
	}
}
