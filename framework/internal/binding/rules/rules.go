package rules

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-playground/validator/v10"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
)

// Rule is one component of a validate tag. alts are the parts of a|b.
type Rule struct {
	Name, Param string
	alts        []Rule
	check       *Check // the check of the application; nil for a rule of validator
}

// String returns the rule as it stands in a tag, with its parameter unescaped.
func (r Rule) String() string {
	return r.text(func(param string) string { return param })
}

// text writes the rule, with its parameters changed by escape.
func (r Rule) text(escape func(string) string) string {
	var parts []string
	for _, alt := range r.alts {
		parts = append(parts, alt.text(escape))
	}
	switch {
	case len(parts) > 0:
		return strings.Join(parts, "|")
	case r.Param == "":
		return r.Name
	}
	return r.Name + "=" + escape(r.Param)
}

// commonName returns the name of the rule. For alternatives it returns their alias, or the whole rule as text.
func (r Rule) commonName() string {
	if len(r.alts) == 0 {
		return r.Name
	}
	text := r.String()
	for alias, expanded := range ruleAliases {
		if expanded == text {
			return alias
		}
	}
	return text
}

// Constraints are the rules of one level: of a value, of the keys of a map, and (after dive) of the elements.
// A nil *Constraints demands nothing.
type Constraints struct {
	Rules   []Rule
	Keys    *Constraints
	Elem    *Constraints
	present bool // required: present and not null
	lax     bool // omitempty and similar: may be absent, and is not checked while empty
	longest int  // size in bytes of the longest text that can satisfy the rules; 0: no bound
	Extra   schema.Keywords
	notes   []string // sentences for rules that have no keyword
}

// Plain reports whether the constraints demand nothing of a value.
func (c *Constraints) Plain() bool {
	return c == nil || len(c.Rules) == 0 && c.Keys == nil && c.Elem.Plain() && len(c.Extra) == 0
}

// MustExist reports whether the value must be present and not null.
func (c *Constraints) MustExist() bool { return c != nil && c.present }

// MayBeAbsent reports whether the tag makes the member optional, as omitempty does.
func (c *Constraints) MayBeAbsent() bool { return c != nil && c.lax }

// Element returns the rules of the elements, or nil.
func (c *Constraints) Element() *Constraints {
	if c == nil {
		return nil
	}
	return c.Elem
}

// KeyRules returns the rules of the keys of a map, or nil.
func (c *Constraints) KeyRules() *Constraints {
	if c == nil {
		return nil
	}
	return c.Keys
}

// forbidden rules access files, sockets or DNS with a text that the caller sent.
var forbidden = map[string]bool{
	"file": true, "dir": true, "filepath": true, "dirpath": true, "image": true, "mimetype": true, "uds_exists": true,
	"tcp4_addr": true, "tcp6_addr": true, "tcp_addr": true, "udp4_addr": true, "udp6_addr": true, "udp_addr": true,
	"ip4_addr": true, "ip6_addr": true, "ip_addr": true, "unix_addr": true,
}

// ruleAliases are the aliases of validator.
var ruleAliases = map[string]string{
	"iscolor":         "hexcolor|rgb|rgba|hsl|hsla|cmyk",
	"country_code":    "iso3166_1_alpha2|iso3166_1_alpha3|iso3166_1_alpha_numeric",
	"eu_country_code": "iso3166_1_alpha2_eu|iso3166_1_alpha3_eu|iso3166_1_alpha_numeric_eu",
}

// Compiler reads the validate tags of one plan.
type Compiler struct {
	*report.Faults
	Checks []Check             // tags of the application
	Long   map[string]bool     // formats with long texts that validator itself must refuse; see [NewValidator]
	judge  *validator.Validate // for single values; nil until it is needed
}

// Read reads the validate tag of a field of type t. owner is the struct with the fields that the tag may name.
// Read returns nil if there are no rules, and after a fault.
func (c *Compiler) Read(tag string, t, owner reflect.Type, v Value) *Constraints {
	if tag == "" || tag == "-" {
		return nil
	}
	out, ok := parseTag(tag)
	if !ok {
		c.Fault("", fmt.Sprintf("validate tag %q cannot be read", tag), "Separate rules by commas; keys…endkeys follow dive")
		return nil
	}
	c.attach(out)
	out.limit()
	c.refuseLong(out, t, false)
	if !c.lint(out, t, owner) || !c.lintBytes(out, v) {
		return nil
	}
	out.settle(v, owner)
	return out
}

// lintBytes refuses rules for the single bytes of a text in base64, because neither a schema nor a fault can
// show a byte.
func (c *Compiler) lintBytes(k *Constraints, v Value) bool {
	for k.Elem != nil && v.Elem != nil {
		k, v = k.Elem, v.Elem()
	}
	if k.Elem == nil || !v.Bytes {
		return true
	}
	c.Fault("", fmt.Sprintf("validate dive on type %s: JSON has a text in base64", v.T), "Use a list of another type of numbers, such as []int")
	return false
}

// parseTag splits a tag into levels.
func parseTag(tag string) (*Constraints, bool) {
	root := &Constraints{}
	cur, above := root, root
	parts := strings.Split(tag, ",")
	for i := 0; i < len(parts); i++ {
		switch part := parts[i]; part {
		case "":
			return nil, false
		case "dive":
			cur.Elem = &Constraints{}
			above, cur = cur, cur.Elem
		case "keys":
			end := i + 1
			for end < len(parts) && parts[end] != "endkeys" {
				end++
			}
			if i == 0 || parts[i-1] != "dive" || end == len(parts) || end == i+1 {
				return nil, false
			}
			keys, ok := parseTag(strings.Join(parts[i+1:end], ","))
			if !ok {
				return nil, false
			}
			above.Keys = keys // the tag reads dive,keys,…,endkeys: cur is the element already
			i = end
		case "required":
			cur.present = true
			cur.Rules = append(cur.Rules, Rule{Name: part})
		case "omitempty", "omitnil", "omitzero":
			cur.lax = true
			cur.Rules = append(cur.Rules, Rule{Name: part})
		default:
			cur.Rules = append(cur.Rules, parseRule(part))
		}
	}
	return root, true
}

func parseRule(part string) Rule {
	if alias, ok := ruleAliases[part]; ok {
		part = alias
	}
	if strings.Contains(part, "|") {
		var r Rule
		for alt := range strings.SplitSeq(part, "|") {
			r.alts = append(r.alts, parseRule(alt))
		}
		return r
	}
	name, param, _ := strings.Cut(part, "=")
	return Rule{Name: name, Param: strings.ReplaceAll(strings.ReplaceAll(param, "0x2C", ","), "0x7C", "|")}
}

// settle gives required a meaning for elements. They are always present, so required demands a text that is
// not empty. settle also collects the sentences for rules without a keyword.
func (c *Constraints) settle(v Value, owner reflect.Type) {
	for _, r := range c.wordless(v) {
		c.notes = append(c.notes, r.sentence(v, owner))
	}
	if v.Key != nil && c.Keys != nil {
		if v.Strings {
			c.Keys.notEmpty(*v.Key)
		}
		c.Keys.settle(*v.Key, owner)
	}
	if c.Elem == nil {
		return
	}
	if v.Elem == nil { // the type decodes itself, so its schema has no elements
		for _, r := range c.Elem.wordless(Value{}) {
			c.notes = append(c.notes, "Of each element: "+r.sentence(Value{T: gotype.Deref(v.T.Elem())}, owner))
		}
		return
	}
	elem := v.Elem()
	c.Elem.notEmpty(elem)
	c.Elem.settle(elem, owner)
}

// notEmpty replaces required by min=1 for texts that are always present.
func (c *Constraints) notEmpty(v Value) {
	if v.Kind != TextKind && (v.T.Kind() != reflect.String || v.T == gotype.NumberType) {
		return
	}
	for i, r := range c.Rules {
		if r.Name == "required" {
			c.Rules[i] = Rule{Name: "min", Param: "1"}
		}
	}
}

// wordless returns the rules that need a sentence, because no keyword expresses them for v.
func (c *Constraints) wordless(v Value) []Rule {
	return slices.DeleteFunc(slices.Clone(c.Rules), func(r Rule) bool {
		return r.structural() || r.express(v, &schema.Keywords{})
	})
}

// structural reports whether the rule controls validator and demands nothing of a value.
func (r Rule) structural() bool {
	switch r.Name {
	case "required", "omitempty", "omitnil", "omitzero", "structonly", "nostructlevel":
		return true
	}
	return false
}

// takesNone reports whether validator ignores the parameter of the rule.
func (r Rule) takesNone() bool {
	for _, rules := range []map[string]string{schema.Patterns, formats, sentences} {
		if _, ok := rules[r.Name]; ok {
			return r.Name != "spicedb"
		}
	}
	return r.structural() || r.Name == "boolean" || r.Name == "ip"
}

// Apply adds the rules to the schema of v.
func (c *Constraints) Apply(k *schema.Keywords, v Value) {
	if c == nil {
		return
	}
	for _, r := range c.Rules {
		if !r.structural() {
			r.express(v, k)
		}
	}
	for _, note := range c.notes {
		k.Note(note)
	}
	for _, w := range c.Extra {
		k.Set(w.Name, w.Value)
	}
}

// Relates reports whether a rule looks at other members.
func (c *Constraints) Relates() bool { return slices.ContainsFunc(c.Rules, Rule.between) }

// Alone returns c without the rules that look at other members.
func (c *Constraints) Alone() *Constraints {
	own := *c
	own.Rules = slices.DeleteFunc(slices.Clone(c.Rules), Rule.between)
	return &own
}

// Relates reports whether the rule of this name looks at other members.
func Relates(name string) bool {
	_, presence := PresenceSentences[name]
	_, between := fieldSentences[name]
	return presence || between
}
