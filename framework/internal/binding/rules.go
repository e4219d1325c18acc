package binding

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-playground/validator/v10"
)

// rule is one component of a validate tag; alts are the parts of a|b.
type rule struct {
	name, param string
	alts        []rule
	check       *Check // the application's own check; nil: a rule of validator
}

func (r rule) String() string {
	if len(r.alts) > 0 {
		parts := make([]string, len(r.alts))
		for i, a := range r.alts {
			parts[i] = a.String()
		}
		return strings.Join(parts, "|")
	}
	if r.param == "" {
		return r.name
	}
	return r.name + "=" + r.param
}

// commonName is the rule's name; for alternatives with an alias, that.
func (r rule) commonName() string {
	if len(r.alts) == 0 {
		return r.name
	}
	text := r.String()
	for alias, expanded := range ruleAliases {
		if expanded == text {
			return alias
		}
	}
	return text
}

// constraints are the rules of one level of a value: of the value itself, of its map keys, and
// (behind dive) of its elements. A nil *constraints demands nothing.
type constraints struct {
	rules   []rule
	keys    *constraints
	elem    *constraints
	present bool // required: present and not null
	lax     bool // omitempty and similar: may be absent, and is not checked while empty
	longest int  // bytes of a text that can satisfy the rules; 0: there is no bound
	extra   keywords
	notes   []string // sentences for rules that have no keyword
}

func (c *constraints) plain() bool {
	return c == nil || len(c.rules) == 0 && c.keys == nil && c.elem.plain() && len(c.extra) == 0
}

func (c *constraints) mustExist() bool { return c != nil && c.present }

func (c *constraints) mayBeAbsent() bool { return c != nil && c.lax }

func (c *constraints) element() *constraints {
	if c == nil {
		return nil
	}
	return c.elem
}

func (c *constraints) keyRules() *constraints {
	if c == nil {
		return nil
	}
	return c.keys
}

// forbidden rules access files, sockets or DNS with a text that the caller sent.
var forbidden = map[string]bool{
	"file": true, "dir": true, "filepath": true, "dirpath": true, "image": true, "mimetype": true, "uds_exists": true,
	"tcp4_addr": true, "tcp6_addr": true, "tcp_addr": true, "udp4_addr": true, "udp6_addr": true, "udp_addr": true,
	"ip4_addr": true, "ip6_addr": true, "ip_addr": true, "unix_addr": true,
}

// ruleAliases are validator's own.
var ruleAliases = map[string]string{
	"iscolor":         "hexcolor|rgb|rgba|hsl|hsla|cmyk",
	"country_code":    "iso3166_1_alpha2|iso3166_1_alpha3|iso3166_1_alpha_numeric",
	"eu_country_code": "iso3166_1_alpha2_eu|iso3166_1_alpha3_eu|iso3166_1_alpha_numeric_eu",
}

// ruleCompiler reads the validate tags of one plan.
type ruleCompiler struct {
	*Faults
	checks []Check             // tags of the application's own
	judge  *validator.Validate // for single values; nil until it is needed
}

// read reads the validate tag of a field of type t. owner is the struct whose fields the tag may name. It
// returns nil if there are no rules, and after a fault.
func (c *ruleCompiler) read(tag string, t, owner reflect.Type, v ruleValue) *constraints {
	if tag == "" || tag == "-" {
		return nil
	}
	out, ok := parseTag(tag)
	if !ok {
		c.fault("", fmt.Sprintf("validate tag %q cannot be read", tag), "Separate rules by commas; keys…endkeys follow dive")
		return nil
	}
	c.attach(out)
	out.limit()
	if !c.lint(out, t, owner) {
		return nil
	}
	out.settle(v, owner)
	return out
}

// parseTag splits a tag into levels.
func parseTag(tag string) (*constraints, bool) {
	root := &constraints{}
	cur := root
	parts := strings.Split(tag, ",")
	for i := 0; i < len(parts); i++ {
		switch part := parts[i]; part {
		case "":
			return nil, false
		case "dive":
			cur.elem = &constraints{}
			cur = cur.elem
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
			// The tag reads dive,keys,…,endkeys: cur is the element already.
			parentOf(root, cur).keys = keys
			i = end
		case "required":
			cur.present = true
			cur.rules = append(cur.rules, rule{name: part})
		case "omitempty", "omitnil", "omitzero":
			cur.lax = true
			cur.rules = append(cur.rules, rule{name: part})
		default:
			cur.rules = append(cur.rules, parseRule(part))
		}
	}
	return root, true
}

func parentOf(root, child *constraints) *constraints {
	for root.elem != child {
		root = root.elem
	}
	return root
}

func parseRule(part string) rule {
	if alias, ok := ruleAliases[part]; ok {
		part = alias
	}
	if strings.Contains(part, "|") {
		var r rule
		for alt := range strings.SplitSeq(part, "|") {
			r.alts = append(r.alts, parseRule(alt))
		}
		return r
	}
	name, param, _ := strings.Cut(part, "=")
	return rule{name: name, param: strings.ReplaceAll(strings.ReplaceAll(param, "0x2C", ","), "0x7C", "|")}
}

// settle makes required meaningful for elements: these are always present, so for texts it
// demands one that is not empty. It also collects the sentences for rules that have no keyword.
func (c *constraints) settle(v ruleValue, owner reflect.Type) {
	for i := range c.notesFor(v) {
		c.notes = append(c.notes, c.sentence(c.rules[i], v, owner))
	}
	if v.key != nil && c.keys != nil {
		if v.strings {
			c.keys.notEmpty(*v.key)
		}
		c.keys.settle(*v.key, owner)
	}
	if c.elem == nil || v.elem == nil {
		return
	}
	elem := v.elem()
	c.elem.notEmpty(elem)
	c.elem.settle(elem, owner)
}

// notEmpty is what required means for a value that is always present.
func (c *constraints) notEmpty(v ruleValue) {
	if v.kind != textKind {
		return
	}
	for i, r := range c.rules {
		if r.name == "required" {
			c.rules[i] = rule{name: "min", param: "1"}
		}
	}
}

// notesFor yields the indexes of rules without a keyword for v.
func (c *constraints) notesFor(v ruleValue) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i, r := range c.rules {
			var scratch keywords
			if r.structural() || c.express(r, v, &scratch) {
				continue
			}
			if !yield(i) {
				return
			}
		}
	}
}

// structural rules control validator and say nothing about a value.
func (r rule) structural() bool {
	switch r.name {
	case "required", "omitempty", "omitnil", "omitzero", "structonly", "nostructlevel":
		return true
	}
	return false
}

// apply adds the rules to the schema of v.
func (c *constraints) apply(k *keywords, v ruleValue) {
	if c == nil {
		return
	}
	for _, r := range c.rules {
		if !r.structural() {
			c.express(r, v, k)
		}
	}
	for _, note := range c.notes {
		k.note(note)
	}
	for _, w := range c.extra {
		k.set(w.name, w.value)
	}
}

// relates reports whether a rule looks at other members.
func (c *constraints) relates() bool { return slices.ContainsFunc(c.rules, rule.relates) }

// alone is c without the rules that look at other members.
func (c *constraints) alone() *constraints {
	own := *c
	own.rules = slices.DeleteFunc(slices.Clone(c.rules), rule.relates)
	return &own
}

func (r rule) relates() bool { return relatesTag(r.name) }

// relatesTag reports whether the rule of this name looks at other members.
func relatesTag(name string) bool {
	_, presence := presenceSentences[name]
	_, between := fieldSentences[name]
	return presence || between
}
