package rawschema

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// nowhere is the address of a schema that has none. It is hierarchical, so that a relative
// reference leads away from the schema and is an error.
const nowhere = "https://kagami.invalid/schema"

// Compile compiles a schema. The text must have passed jsontext.Check and
// jsontext.Unique, and must not be changed afterwards. The error says what is
// wrong with it, and where.
func Compile(text []byte) (*Schema, error) {
	doc := document(text)
	dialect, err := dialectOf(&doc, draft2020)
	if err != nil {
		return nil, err
	}
	if err := conforms(&doc, dialect); err != nil {
		return nil, err
	}
	return compile(doc, nowhere, dialect)
}

func compile(doc value, address string, dialect version) (*Schema, error) {
	c := &compiler{resources: map[string]*resource{}, homes: map[*value]*resource{}, schemas: map[*value]*Schema{}, open: map[*Schema]bool{}}
	base, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	s := c.schema(&doc, c.load(&doc, base, dialect))
	c.scopes()
	s.static = !c.dynamic || len(c.loaded) == 1 // in one resource, dynamic references have one target
	return s, c.err
}

// resource is a schema with an address of its own (2020-12 core 4.3.5).
type resource struct {
	address *url.URL // without a fragment
	root    *value
	dialect version
	anchors map[string]*value
	dynamic map[string]*value  // anchors that are $dynamicAnchor; "" is the root if it has $recursiveAnchor (2019-09)
	scoped  map[string]*Schema // dynamic, compiled
}

// compiler compiles one document, and the metaschemas that it refers to.
type compiler struct {
	resources map[string]*resource
	loaded    []*resource // resources in the order of their discovery
	homes     map[*value]*resource
	schemas   map[*value]*Schema
	open      map[*Schema]bool // those that are being compiled
	dynamic   bool             // the target of some reference depends on the dynamic scope
	err       error            // the first one
}

func (c *compiler) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

// load makes a document known under an address, together with all resources inside it.
func (c *compiler) load(doc *value, address *url.URL, dialect version) *resource {
	c.discover(doc, c.add(&resource{address: address, root: doc, dialect: dialect}))
	return c.homes[doc]
}

func (c *compiler) add(r *resource) *resource {
	r.anchors, r.dynamic, r.scoped = map[string]*value{}, map[string]*value{}, map[string]*Schema{}
	key := r.address.String()
	if other, taken := c.resources[key]; taken && other.root != r.root {
		c.fail("two schemas have the address %s", key)
	}
	c.resources[key] = r
	c.loaded = append(c.loaded, r)
	return r
}

// discover finds the addresses and anchors in a schema that belongs to the resource home.
func (c *compiler) discover(v *value, home *resource) {
	if v.kind != jsontext.KindObject {
		return
	}
	// Up to draft 7 everything beside $ref is ignored (draft-07 core 8.3), but generators put
	// the definitions there.
	if home.dialect >= draft2019 || v.member("$ref") == nil {
		home = c.addressed(v, home)
	}
	c.homes[v] = home
	if anchor := v.member("$anchor"); anchor != nil && home.dialect >= draft2019 {
		c.anchor(home, string(anchor.text), v)
	}
	if anchor := v.member("$dynamicAnchor"); anchor != nil && home.dialect >= draft2020 {
		c.anchor(home, string(anchor.text), v)
		home.dynamic[string(anchor.text)] = v
	}
	if v == home.root && home.dialect == draft2019 && v.member("$recursiveAnchor").isTrue() {
		home.dynamic[""] = v
	}
	for _, inner := range subschemas(v, home.dialect) {
		c.discover(inner, home)
	}
}

// addressed is the resource that a schema belongs to: its own if it has an address, else home.
func (c *compiler) addressed(v *value, home *resource) *resource {
	id := v.member(home.dialect.idKeyword())
	if id == nil {
		return home
	}
	address, err := home.address.Parse(string(id.text))
	if err != nil {
		c.fail("%s %q is not a URI", home.dialect.idKeyword(), id.text)
		return home
	}
	fragment := address.Fragment
	address.Fragment, address.RawFragment = "", ""
	if address.String() != home.address.String() {
		if dialect, err := dialectOf(v, home.dialect); err != nil || dialect != home.dialect {
			c.fail("schema %s: one document has one dialect", address)
		}
		home = c.add(&resource{address: address, root: v, dialect: home.dialect})
	}
	if fragment != "" {
		c.anchor(home, fragment, v)
	}
	return home
}

func (c *compiler) anchor(home *resource, name string, v *value) {
	if other, taken := home.anchors[name]; taken && other != v {
		c.fail("two schemas have the anchor %q", name)
	}
	home.anchors[name] = v
}

// schema compiles the schema at v, once. home is the resource that refers to it. It is used if v is
// not the schema of a keyword.
func (c *compiler) schema(v *value, home *resource) *Schema {
	if s, ok := c.schemas[v]; ok {
		return s
	}
	if own, ok := c.homes[v]; ok {
		home = own
	}
	s, at := &Schema{source: v, home: home}, site{c, v, home}
	c.schemas[v] = s
	c.open[s] = true
	switch {
	case v.kind == jsontext.KindBool:
		s.never = v.raw[0] == 'f'
	case v.kind != jsontext.KindObject:
		c.fail("%s is not a schema", v.raw)
	case home.dialect < draft2019 && v.member("$ref") != nil:
		s.rest = at.keywords([]maker{{"$ref", draft4, draft7, all, site.ref}})
	default:
		s.first, s.rest = at.keywords(decisive()), at.keywords(others())
		s.tracks = home.dialect >= draft2019 && (v.member("unevaluatedProperties") != nil || v.member("unevaluatedItems") != nil)
	}
	delete(c.open, s)
	return s
}

// resolve finds the value that a reference means, and the resource of that value.
func (c *compiler) resolve(reference string, from *resource) (*value, *resource, error) {
	address, err := from.address.Parse(reference)
	if err != nil {
		return nil, nil, fmt.Errorf("reference to %s: it is not a URI", reference)
	}
	fragment := address.Fragment
	address.Fragment, address.RawFragment = "", ""
	home, known := c.resources[address.String()]
	if !known {
		text, ours := metaschemaText(address.String())
		if !ours {
			return nil, nil, fmt.Errorf("reference to %s: only references within the schema are allowed", reference)
		}
		doc := document(text)
		dialect, err := dialectOf(&doc, draft2020)
		if err != nil {
			return nil, nil, err
		}
		home = c.load(&doc, address, dialect)
	}
	v, home, ok := c.locate(home, fragment)
	if !ok {
		return nil, nil, fmt.Errorf("reference to %s: there is nothing", reference)
	}
	return v, home, c.adopt(v, home)
}

// adopt prepares the target of a reference that is not at a place where a keyword has a schema:
// discover has not been there.
func (c *compiler) adopt(v *value, home *resource) error {
	if _, known := c.homes[v]; known {
		return nil
	}
	c.discover(v, home)
	return conforms(v, home.dialect)
}

// locate follows a fragment: a JSON Pointer, or the name of an anchor.
func (c *compiler) locate(home *resource, fragment string) (*value, *resource, bool) {
	pointer, isPointer := strings.CutPrefix(fragment, "/")
	if !isPointer {
		v, ok := home.root, fragment == ""
		if !ok {
			v, ok = home.anchors[fragment]
		}
		return v, home, ok
	}
	v := home.root
	for token := range strings.SplitSeq(pointer, "/") {
		if v = v.child(token); v == nil {
			return nil, nil, false
		}
		if own, ok := c.homes[v]; ok {
			home = own
		}
	}
	return v, home, true
}

// child follows one token of a JSON Pointer (RFC 6901); nil if there is nothing.
func (v *value) child(token string) *value {
	if v.kind != jsontext.KindArray {
		return v.member(strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~"))
	}
	i, err := strconv.Atoi(token)
	if err != nil || i < 0 || i >= len(v.items) || strconv.Itoa(i) != token {
		return nil
	}
	return &v.items[i]
}

// scopes compiles the possible targets of dynamic references in all resources: the right one is
// known only when a value is judged.
func (c *compiler) scopes() {
	for i := 0; i < len(c.loaded); i++ { // grows as references lead to metaschemas
		r := c.loaded[i]
		for name, v := range r.dynamic {
			r.scoped[name] = c.schema(v, r)
		}
	}
}
