package plan

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
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
	broken   []Finding // of rules, by blame; after found
	decoded  int       // how many of found come from decoding
	most     int       // reading stops after so many findings
	size     int       // bytes of their paths
	secret   bool      // a secret member is being decoded
	unjudged bool      // validator may pass over the values of the member that is being decoded
	repair   bool      // a string may be read as the JSON that it contains, and nothing as not given
	mendable bool      // a repair might help
	hopeless bool      // a finding remains after any repair
	doubt    bool      // validator must judge the whole value
	repairs  int       // how many values were repaired
	repaired []string  // pointers of the first of them; together they have repairedSize bytes
	inBase64 []int     // ascending indexes of those that are base64, which contains no JSON
	panicked error     // the first *report.Panic of the program's methods; nil: none
	texts    texts

	respelled    bool               // there are keys that methods of their types read
	keyNames     map[keyName]string // how the caller wrote these keys; nil: they are not noted
	repairedSize int
}

// keyName is an entry of a map: the pointer of the map, and the key. Rules name the entry by the key, which may have
// several spellings.
type keyName struct {
	pointer string
	key     any
}

// decoders are reused. Between uses they hold nothing of a call.
var decoders = sync.Pool{New: func() any { return new(decoder) }}

func (p *Plan) decoder(repair bool, raw []byte) *decoder {
	d := decoders.Get().(*decoder)
	d.plan, d.repair, d.texts.bound, d.most = p, repair, len(raw), maxFindings
	if repair {
		d.most = 1 // only whether there is one matters
	}
	return d
}

// probe is a decoder for one value. It reports only whether the value can be read, and whether a fast check
// doubts it.
func (p *Plan) probe() *decoder { return &decoder{plan: p, most: 1, unjudged: true} }

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

// step is one part of a path: a member's name, or an index.
type step struct {
	name   string
	index  int
	member bool
}

// maxFindings bounds the work on a hostile text: reading stops there. Invalid shows fewer.
const maxFindings = 64

// maxRepaired is how many pointers of repaired values a Report lists.
const maxRepaired = 64

// maxPaths bounds the paths of findings and of repaired values in bytes: a caller's key may be long, and
// be in all of them.
const maxPaths = 32 << 10

// full reports whether reading has found enough faults to stop.
func (d *decoder) full() bool { return len(d.found)+len(d.broken) >= d.most || d.size >= maxPaths }

// noteRepair records that the value at the current path was repaired.
func (d *decoder) noteRepair() {
	d.repairs++
	if d.repairedSize < maxPaths {
		path := pointerOf(d.path)
		d.repaired = append(d.repaired, path)
		d.repairedSize += len(path)
	}
}

// listed returns the pointers for a Report.
func (d *decoder) listed() []string {
	n := min(len(d.repaired), maxRepaired)
	return d.repaired[:n:n]
}

func (d *decoder) enter(name string) { d.path = append(d.path, step{name: name, member: true}) }

func (d *decoder) enterIndex(i int) { d.path = append(d.path, step{index: i}) }

func (d *decoder) leave() { d.path = d.path[:len(d.path)-1] }

func pointerOf(path []step) string {
	size := 0
	for _, s := range path {
		size += len("/") + max(len(s.name), len("99999"))
	}
	var p strings.Builder
	p.Grow(size)
	for _, s := range path {
		switch {
		case !s.member:
			p.WriteString(jsontext.PointerIndex("", s.index))
		case strings.IndexByte(s.name, '~') < 0 && strings.IndexByte(s.name, '/') < 0:
			p.WriteByte('/')
			p.WriteString(s.name)
		default:
			p.WriteString(jsontext.Pointer("", s.name))
		}
	}
	return p.String()
}

// file records a finding at the current path that no repair removes.
func (d *decoder) file(f Finding) {
	d.hopeless = true
	d.add(f)
}

// fileAt is file for a member of the value at the current path.
func (d *decoder) fileAt(name string, f Finding) {
	d.enter(name)
	d.file(f)
	d.leave()
}

// add records a finding at the current path, unless there are enough of them.
func (d *decoder) add(f Finding) {
	if len(d.found) < d.most {
		f.Path = pointerOf(d.path)
		d.size += len(f.Path)
		d.found = append(d.found, f)
	}
}

// read decodes raw as n. What was decoded is also checked against the type's own schema, if it
// has one.
func (d *decoder) read(n Node, raw []byte, v reflect.Value, c *rules.Constraints) {
	if d.plan.own == nil {
		n.decode(d, raw, v, c)
		return
	}
	before, repairs := len(d.found), d.repairs
	n.decode(d, raw, v, c)
	own := d.plan.own[n]
	if own == nil || len(d.found) > before {
		return
	}
	if meant := d.meant(n, raw, repairs); !own.Accepts(meant) {
		d.refuseWith(report.RuleSchema, own.ObjectProblem(meant), n, raw, c)
	}
}

// meant is raw, the value at the current path for n, with the values in it as they were read since there were so
// many repairs, as far as these were noted. Base64 is a text in any form.
func (d *decoder) meant(n Node, raw []byte, repairs int) []byte {
	if _, isBytes := seenThrough(n).(*bytesNode); isBytes || d.repairs == repairs {
		return raw
	}
	around := len(pointerOf(d.path))
	var paths []string
	for i := min(repairs, len(d.repaired)); i < len(d.repaired); i++ {
		if _, is := slices.BinarySearch(d.inBase64, i); !is { // there may be thousands
			paths = append(paths, d.repaired[i][around:])
		}
	}
	if len(paths) == 0 && jsontext.KindOf(raw) == jsontext.KindString {
		paths = []string{""} // the text itself is the first repair of it, and was not noted
	}
	return asRead(raw, paths)
}

// asRead is raw with what the texts at paths contain instead of the texts, with an empty object instead of an empty
// list there, and without the members there that count as not given. The paths are in the order of the text.
func asRead(raw []byte, paths []string) []byte {
	if len(paths) > 0 && paths[0] == "" {
		raw, paths = itselfAsRead(raw), paths[1:]
	}
	if len(paths) == 0 || !jsonedit.IsContainer(raw) {
		return raw
	}
	below := func(is func(part string) bool) (inside []string) {
		for len(paths) > 0 {
			part, rest := jsonedit.FirstStep(paths[0])
			if !is(jsonedit.Unescaped(part)) {
				break
			}
			inside, paths = append(inside, rest), paths[1:]
		}
		return inside
	}
	if jsontext.KindOf(raw) == jsontext.KindArray {
		var items [][]byte
		for item := range jsontext.Elements(raw) {
			inside := below(func(part string) bool { i, ok := jsonedit.Index(part); return ok && i == len(items) })
			items = append(items, asRead(item, inside))
		}
		return jsonedit.List(items)
	}
	out := []byte{'{'}
	for key, value := range jsontext.Members(raw) {
		if inside := below(key.Is); len(inside) == 0 || !blank(value) {
			out = jsonedit.AppendMember(out, key.String(), asRead(value, inside))
		}
	}
	return append(out, '}')
}

// itselfAsRead is asRead for the value itself, without what is in it.
func itselfAsRead(raw []byte) []byte {
	if inner, ok := jsonedit.Unquoted(raw, jsontext.KindBool, jsontext.KindNumber, jsontext.KindArray, jsontext.KindObject); ok {
		return inner
	}
	if jsontext.IsEmptyArray(raw) {
		return jsonedit.EmptyObject
	}
	return raw
}

// refuse records that raw is not what n wants.
func (d *decoder) refuse(rule string, n Node, raw []byte, c *rules.Constraints) {
	d.refuseWith(rule, "", n, raw, c)
}

// refuseWith adds a hint to that.
func (d *decoder) refuseWith(rule, hint string, n Node, raw []byte, c *rules.Constraints) {
	if !blank(raw) { // else it depends on the member
		d.hopeless = true
	}
	d.describe(rule, hint, n, raw, c)
}

// blank reports whether raw may count as not given.
func blank(raw []byte) bool {
	return string(raw) == `""` || jsontext.KindOf(raw) == jsontext.KindNull
}

// describe adds the finding that raw is not what n wants.
func (d *decoder) describe(rule, hint string, n Node, raw []byte, c *rules.Constraints) {
	want := d.plan.wanted(n, c)
	if want == schema.AnyValue { // it is not any value that the type's own method takes
		want = ""
		if hint == "" {
			want = "the JSON form of " + gotype.PlainName(n.GoType())
		}
	}
	d.add(Finding{
		Issue: report.Issue{Got: d.got(n, raw), Want: want, Hint: hint, Rule: rule},
		Node:  n, Rules: c,
	})
}

func (d *decoder) got(n Node, raw []byte) string {
	if d.secret {
		return "a value that is not shown"
	}
	return d.plan.got(n, raw)
}

// got describes a value that the caller sent for n. In a type with secrets it hides a value that may contain
// a secret: any value for a node with a secret member, a container where n wants something else, and what
// names a secret.
func (p *Plan) got(n Node, raw []byte) string {
	if p.Secretive && !empty(raw) && (hasSecret(n) || schema.Misplaced(p.Words(n, nil), raw) || p.namesSecret(raw)) {
		return "a value that is not shown (" + report.KindNames[jsontext.KindOf(raw)] + ")"
	}
	return report.GotWords(raw)
}

// empty reports whether a value has nothing to hide.
func empty(raw []byte) bool {
	if jsonedit.IsContainer(raw) {
		return jsontext.Len(raw) == 0
	}
	return jsontext.KindOf(raw) == jsontext.KindNull
}

// expect is raw if it is of the wanted kind, or the content of a string if that is, or an empty object instead of
// an empty list; otherwise it records a finding.
func (d *decoder) expect(want jsontext.Kind, n Node, raw []byte, c *rules.Constraints) ([]byte, bool) {
	if jsontext.KindOf(raw) == want {
		return raw, true
	}
	// Models often send "5" for 5 and "[1]" for [1]. It is read on the second pass, and never where a text is
	// wanted (FastMCP #3931 shows the harm).
	inner, ok := jsonedit.Unquoted(raw, want)
	if want == jsontext.KindObject && jsontext.IsEmptyArray(raw) { // PHP writes an empty object so, and cannot write it otherwise
		inner, ok = jsonedit.EmptyObject, true
	}
	switch {
	case !ok:
		d.refuse(report.RuleType, n, raw, c)
	case d.repair:
		d.noteRepair()
		return inner, true
	default:
		d.mendable = true
		d.describe(report.RuleType, "", n, raw, c)
	}
	return nil, false
}

// ptrNode is a pointer: null is nil.
type ptrNode struct {
	typed

	elem Node
}

func (n *ptrNode) decode(d *decoder, raw []byte, v reflect.Value, c *rules.Constraints) {
	if jsontext.KindOf(raw) == jsontext.KindNull && (len(d.path) > 0 || d.plan.mode == Output) {
		if d.plan.mode.flat() || c.MustExist() { // the value may only be absent
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
	e := &report.Invalid{Total: len(d.found), Stopped: d.full(), Cause: d.panicked}
	for _, f := range d.found[:min(len(d.found), report.MaxIssues)] {
		e.Issues = append(e.Issues, d.plan.shown(f))
	}
	return e
}

// unpanicked returns err for the caller. If a method of the program panicked on a value, it returns
// an error for an unreadable value, and keeps the first panic for the log.
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
