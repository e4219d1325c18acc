package plan

import (
	"reflect"
	"sync"

	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Finding is an issue, with what is needed to sort and correct it.
type Finding struct {
	report.Issue
	Node    Node
	Rules   *rules.Constraints
	Field   *Member     // the member that the issue is about, if it is about one
	owner   *StructNode // the struct of the member, if a rule between members failed
	Key     *KeyCodec   // set if the key of a map's entry is wrong; c has the rules of the keys then
	Missing bool
}

// decoder is the state of one pass over a text.
type decoder struct {
	plan     *Plan
	path     []step
	found    []Finding
	decoded  int  // how many of found come from decoding
	total    int  // number of findings, including those beyond the bound
	secret   int  // how many secret members are being decoded, one inside the other
	repair   bool // a string may be read as the JSON that it contains, and nothing as not given
	mendable bool // a repair might help
	doubt    bool // a fast check has not accepted a value
	repaired []string
	panicked *report.Panic // the first of the program's methods; nil: none
	texts    texts
}

// decoders are reused. Between uses they hold nothing of a call.
var decoders = sync.Pool{New: func() any { return new(decoder) }}

func (p *Plan) decoder(repair bool, raw []byte) *decoder {
	d := decoders.Get().(*decoder)
	d.plan, d.repair, d.texts.bound = p, repair, len(raw)
	return d
}

// release gives the decoder back. Its findings and repairs belong to the caller that has taken them.
func (d *decoder) release() {
	*d = decoder{path: forgotten(d.path)}
	decoders.Put(d)
}

// forgotten is the path's array without the names, which alias the caller's text; nil if it has
// grown large.
func forgotten(path []step) []step {
	const usual = 64
	if cap(path) > usual {
		return nil
	}
	clear(path[:cap(path)])
	return path[:0]
}

func (d *decoder) text(raw []byte) (string, bool) { return d.texts.of(raw) }

// step is one part of a path: a member's name, or an index.
type step struct {
	name   string
	index  int
	member bool
}

// maxFindings bounds the work on a hostile text; Invalid shows fewer.
const maxFindings = 64

func (d *decoder) enter(name string) { d.path = append(d.path, step{name: name, member: true}) }

func (d *decoder) enterIndex(i int) { d.path = append(d.path, step{index: i}) }

func (d *decoder) leave() { d.path = d.path[:len(d.path)-1] }

func pointerOf(path []step) string {
	p := ""
	for _, s := range path {
		if s.member {
			p = jsontext.Pointer(p, s.name)
		} else {
			p = jsontext.PointerIndex(p, s.index)
		}
	}
	return p
}

// file records a finding at the current path.
func (d *decoder) file(f Finding) {
	d.total++
	if len(d.found) >= maxFindings {
		return
	}
	f.Path = pointerOf(d.path)
	d.found = append(d.found, f)
}

// read decodes raw as n. What was decoded is also checked against the type's own schema, if it
// has one.
func (d *decoder) read(n Node, raw []byte, v reflect.Value, c *rules.Constraints) {
	if d.plan.own == nil {
		n.decode(d, raw, v, c)
		return
	}
	total, repaired := d.total, len(d.repaired)
	n.decode(d, raw, v, c)
	own := d.plan.own[n]
	if own == nil || d.total > total {
		return
	}
	if meant := d.meant(raw, repaired); !own.Accepts(meant) {
		d.refuseWith(report.RuleSchema, own.ObjectProblem(meant), n, raw, c)
	}
}

// meant is raw, or its repaired form if values in it were repaired.
func (d *decoder) meant(raw []byte, repaired int) []byte {
	if len(d.repaired) > repaired {
		if text, ok := jsontext.String(raw); ok {
			return []byte(text)
		}
	}
	return raw
}

// refuse records that raw is not what n wants.
func (d *decoder) refuse(rule string, n Node, raw []byte, c *rules.Constraints) {
	d.refuseWith(rule, "", n, raw, c)
}

// refuseWith adds a hint to that.
func (d *decoder) refuseWith(rule, hint string, n Node, raw []byte, c *rules.Constraints) {
	switch jsontext.KindOf(raw) {
	case jsontext.KindString, jsontext.KindNull:
		d.mendable = true
	}
	if len(d.found) >= maxFindings {
		d.total++
		return
	}
	want := d.plan.wanted(n, c)
	if hint != "" && want == schema.AnyValue { // it is not any value that the type's own method takes
		want = ""
	}
	d.file(Finding{
		Issue: report.Issue{Got: d.got(n, raw), Want: want, Hint: hint, Rule: rule},
		Node:  n, Rules: c,
	})
}

func (d *decoder) got(n Node, raw []byte) string {
	if d.secret > 0 {
		return "a value that is not shown"
	}
	return d.plan.got(n, raw)
}

// got describes a value that the caller sent for n. In a type with secrets it hides a value that may contain
// a secret: any value for a node with a secret member, and a container where n wants something else. n is
// nil for the name of a union's variant.
func (p *Plan) got(n Node, raw []byte) string {
	if p.Secretive && n != nil && !empty(raw) && (hasSecret(n, map[Node]bool{}) || schema.Misplaced(p.Words(n, nil), raw)) {
		return "a value that is not shown (" + report.KindNames[jsontext.KindOf(raw)] + ")"
	}
	return report.GotWords(raw)
}

// empty reports whether a value has nothing to hide.
func empty(raw []byte) bool {
	switch jsontext.KindOf(raw) {
	case jsontext.KindObject, jsontext.KindArray:
		return jsontext.Len(raw) == 0
	default:
		return jsontext.KindOf(raw) == jsontext.KindNull
	}
}

// expect is raw if it is of the wanted kind, or the content of a string if that is; otherwise
// it records a finding.
func (d *decoder) expect(want jsontext.Kind, n Node, raw []byte, c *rules.Constraints) ([]byte, bool) {
	if jsontext.KindOf(raw) == want {
		return raw, true
	}
	inner, ok := d.mend(raw, want)
	if !ok {
		d.refuse(report.RuleType, n, raw, c)
	}
	return inner, ok
}

// mend returns what a string contains if that is a JSON value of one of the
// wanted kinds: models often send "5" for 5 and "[1]" for [1]. Only on the
// second pass, and never called for strings (FastMCP #3931 shows the harm).
func (d *decoder) mend(raw []byte, want ...jsontext.Kind) ([]byte, bool) {
	if !d.repair {
		return nil, false
	}
	inner, ok := jsonedit.Unquoted(raw, want...)
	if ok {
		d.repaired = append(d.repaired, pointerOf(d.path))
	}
	return inner, ok
}

// ptrNode is a pointer: null is nil.
type ptrNode struct {
	t     reflect.Type
	elem  Node
	never bool // null is not allowed here; the value may only be absent
}

// GoType returns the type of the values.
func (n *ptrNode) GoType() reflect.Type { return n.t }

func (n *ptrNode) decode(d *decoder, raw []byte, v reflect.Value, c *rules.Constraints) {
	if jsontext.KindOf(raw) == jsontext.KindNull && (len(d.path) > 0 || d.plan.mode == Output) {
		if n.never || c.MustExist() {
			d.refuse(report.RuleType, n.elem, raw, c)
		}
		return
	}
	if v.IsNil() {
		v.Set(reflect.New(n.t.Elem()))
	}
	d.read(n.elem, raw, v.Elem(), c)
}

func (n *ptrNode) encode(e *encoder, dst []byte, v reflect.Value) []byte {
	if v.IsNil() {
		return append(dst, "null"...)
	}
	if e.deeper() {
		dst = n.elem.encode(e, dst, v.Elem())
		e.depth--
	}
	return dst
}

// schema advertises null for results only. Arguments take it too, but some model APIs refuse lists of
// types, and a member that may be null may also be left out.
func (n *ptrNode) schema(s *schemer, c *rules.Constraints) schema.Keywords {
	k := s.of(n.elem, c)
	if s.mode != Output || c.MustExist() {
		return k
	}
	return schema.Nullable(k)
}

// invalid turns the findings of a pass into the error.
func (d *decoder) invalid(raw []byte) *report.Invalid {
	sortFindings(d.found, raw)
	e := &report.Invalid{Total: d.total, Panic: d.panicked}
	for _, f := range d.found[:min(len(d.found), report.MaxIssues)] {
		e.Issues = append(e.Issues, d.plan.shown(f))
	}
	return e
}

// unpanicked is err for the caller: a value on which the program's method panicked is unreadable.
// The first panic is kept for the log.
func (d *decoder) unpanicked(err error) error {
	p, ok := err.(*report.Panic) //nolint:errorlint // recovered has made it
	if !ok {
		return err
	}
	if d.panicked == nil {
		d.panicked = p
	}
	return errUnreadable
}
