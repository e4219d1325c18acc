package framework

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
	"github.com/kagami-mcp/kagami/framework/internal/callsite"
	"github.com/kagami-mcp/kagami/framework/internal/catalog"
)

// A BuildError lists all faults of a build. Error returns the report for people, MarshalJSON the
// report for programs.
type BuildError struct {
	Faults []Fault // in the order of registration

	outcome string // sentence about what did not happen because of the faults
}

// A Fault is one mistake in a registration.
type Fault struct {
	Component string `json:"component"`          // kind and name, such as: tool "refund"
	Where     string `json:"where,omitempty"`    // file:line of the function, or of the field that Path names
	Function  string `json:"function,omitempty"` // the user's function
	Path      string `json:"path,omitempty"`     // field path
	Problem   string `json:"problem"`
	Fix       string `json:"fix,omitempty"`
	Warning   bool   `json:"warning"`

	declared string // file:line of the function; "" if Where is that position
}

// Error returns a report of many lines. Faults of one component are together, components are in the
// order of registration, and warnings come last.
func (e *BuildError) Error() string {
	problems, warnings := e.split()
	var s strings.Builder
	s.WriteString("kagami: " + count(len(problems), "problem"))
	if len(warnings) > 0 {
		s.WriteString(", " + count(len(warnings), "warning"))
	}
	s.WriteString(". " + e.ending() + "\n")
	var head string
	for _, f := range slices.Concat(problems, warnings) {
		if h := f.head(); h != head {
			head = h
			s.WriteString("\n  " + h + "\n")
		}
		s.WriteString("    " + strings.ReplaceAll(f.sentence(), "\n", "\n    ") + "\n")
	}
	return strings.TrimSuffix(s.String(), "\n")
}

// MarshalJSON returns the report for programs:
//
//	{"problems": 1, "warnings": 0, "outcome": "Nothing was started.", "faults": [
//	  {"component": "tool \"refund\"", "where": "billing/billing.go:17", "function": "(*Billing).Refund",
//	   "path": "Refund.C", "problem": "type chan int has no JSON form", "fix": "Remove the field", "warning": false}]}
//
// The faults are in the order of Error. The members where, function, path and fix are absent if they
// are empty. The error is always nil.
func (e *BuildError) MarshalJSON() ([]byte, error) {
	problems, warnings := e.split()
	return json.Marshal(struct {
		Problems int     `json:"problems"`
		Warnings int     `json:"warnings"`
		Outcome  string  `json:"outcome"`
		Faults   []Fault `json:"faults"`
	}{len(problems), len(warnings), e.ending(), append(append([]Fault{}, problems...), warnings...)})
}

// ending returns the sentence of the report that says what did not happen.
func (e *BuildError) ending() string {
	return cmp.Or(e.outcome, "Nothing was started.")
}

// split returns the problems and the warnings, each grouped by component.
func (e *BuildError) split() (problems, warnings []Fault) {
	for _, f := range e.Faults {
		if f.Warning {
			warnings = append(warnings, f)
		} else {
			problems = append(problems, f)
		}
	}
	return grouped(problems), grouped(warnings)
}

// grouped sorts the faults, with all faults of a component at the position of its first fault.
func grouped(faults []Fault) []Fault {
	first := make(map[string]int)
	for i, f := range slices.Backward(faults) {
		first[f.head()] = i
	}
	slices.SortStableFunc(faults, func(a, b Fault) int { return first[a.head()] - first[b.head()] })
	return faults
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func (f Fault) head() string {
	parts := []string{f.Component}
	if f.Warning {
		parts = []string{"warning  " + f.Component}
	}
	if at := cmp.Or(f.declared, f.Where); at != "" {
		parts = append(parts, at)
	}
	if f.Function != "" {
		parts = append(parts, f.Function)
	}
	return strings.Join(parts, "   ")
}

func (f Fault) sentence() string {
	path := f.Path
	if f.declared != "" {
		path += " (" + f.Where + ")"
	}
	if path != "" {
		path += ": "
	}
	text := binding.Sentence(path + f.Problem)
	if f.Fix != "" {
		text += " " + binding.Sentence(f.Fix)
	}
	return text
}

// A builder turns components into catalog entries and collects faults. It is used by one goroutine,
// for one Build or one change of a server.
type builder struct {
	server  *Server
	remove  []*catalog.Entry // entries that are removed by the same change
	faults  []Fault
	entries []*catalog.Entry
	yield   map[identity]*catalog.Entry // entries that a new one of the same kind and name replaces; nil unless yielding was called
	taken   map[identity]string         // call sites that registered the names in use
	handles map[*declaration]string     // call sites that added the handles in use
	plans   binding.Set
}

// identity is unique among the components of a server.
type identity struct {
	kind kind
	key  string
}

// emptyBuilder returns a builder with the options of the server, but without its components.
func emptyBuilder(s *Server) *builder {
	return &builder{
		server: s,
		taken:  make(map[identity]string), handles: make(map[*declaration]string),
		plans: binding.Set{Options: s.cfg.plans},
	}
}

// newBuilder returns a builder that knows the components of the server, except those in remove.
func newBuilder(s *Server, remove []*catalog.Entry, faults []Fault) *builder {
	b := emptyBuilder(s)
	b.remove, b.faults = remove, faults
	for _, e := range s.registry.Entries() {
		if slices.Contains(remove, e) {
			continue
		}
		old := e.Handler.(*componentHandler)
		b.taken[identity{old.declared.kind, e.Key}] = old.declared.made
		b.handles[old.declared] = old.at
	}
	return b
}

// replacing makes new components replace registered components of the same kind and name, instead
// of conflicting with them.
func (b *builder) replacing() *builder {
	b.yield = make(map[identity]*catalog.Entry)
	for _, e := range b.server.registry.Entries() {
		b.yield[identity{e.Handler.(*componentHandler).declared.kind, e.Key}] = e
	}
	return b
}

// removeOld removes the registered component with the identity, if b is yielding.
func (b *builder) removeOld(id identity) {
	old := b.yield[id]
	if old == nil {
		return
	}
	b.remove = append(b.remove, old)
	delete(b.yield, id)
	delete(b.taken, id)
	delete(b.handles, old.Handler.(*componentHandler).declared)
}

// A member is one component that is being built into a server.
type member struct {
	*declaration
	listed  string // the name with the prefixes of its groups
	group   string
	at      string // call site that added it
	options settings
	entry   *catalog.Entry
	handler *componentHandler
	failed  bool
}

// A layer holds the prefix and options that a group adds to its members.
type layer struct {
	prefix string
	opts   []Option
	used   []bool // for each option, whether it fits a member
}

func (b *builder) add(c Component, at string) { b.walk(c, at, nil) }

func (b *builder) with(components []Component, at string) *builder {
	for _, c := range components {
		b.add(c, at)
	}
	return b
}

func (b *builder) walk(c Component, at string, layers []*layer) {
	switch c := c.(type) {
	case nil:
		b.faults = append(b.faults, Fault{Component: "component", Where: at, Problem: "the component is nil", Fix: "Remove it"})
	case *Set:
		if c == nil {
			b.walk(nil, at, layers)
			return
		}
		b.set(c, at, layers)
	case leaf:
		d := c.declared()
		if d == nil {
			b.walk(nil, at, layers)
			return
		}
		b.member(d, at, layers)
	default: // a type that embeds a component also has its methods
		b.faults = append(b.faults, Fault{
			Component: "component", Where: at,
			Problem: fmt.Sprintf("a %T is not a component of this package", c), Fix: "Add the component that it embeds",
		})
	}
}

func (b *builder) set(g *Set, at string, layers []*layer) {
	b.faults = append(b.faults, g.faults...)
	l := &layer{prefix: g.prefix, opts: g.opts, used: make([]bool, len(g.opts))}
	for _, c := range g.members {
		b.walk(c, at, append(slices.Clip(layers), l))
	}
	for i, o := range g.opts {
		if opt, ok := o.(componentOption); ok && !l.used[i] && len(g.members) > 0 {
			b.faults = append(b.faults, Fault{
				Component: g.head, Where: g.where,
				Problem: opt.name + " fits no member", Fix: "Remove it or give it to a component that it fits",
			})
		}
	}
}

func newMember(d *declaration, at string, layers []*layer) *member {
	m := &member{declaration: d, at: at, listed: d.name}
	var prefixes []string
	for _, l := range layers {
		if l.prefix != "" {
			prefixes = append(prefixes, l.prefix)
		}
	}
	m.group = strings.Join(prefixes, "_")
	if m.group != "" && d.kind&(kindTool|kindPrompt) != 0 {
		m.listed = m.group + "_" + d.name
	}
	return m
}

func (b *builder) member(d *declaration, at string, layers []*layer) {
	m := newMember(d, at, layers)
	b.removeOld(identity{m.kind, m.listed})
	if first, twice := b.handles[d]; twice {
		m.fault(b, "", "the same handle is registered twice: "+both(first, at), "Register it once")
		return
	}
	b.handles[d] = at
	b.configure(m, layers)
	before := len(b.faults)
	defer func() { m.offerWayOut(b.faults[before:]) }()
	if d.problem != "" {
		m.fault(b, "", d.problem, d.fix)
	}
	b.checkName(m)
	b.claim(m)
	b.bind(m)
}

// offerWayOut adds m.wayOut, the Exclude for a method in Methods, to the fix of each fault.
func (m *member) offerWayOut(faults []Fault) {
	for i := range faults {
		f := &faults[i]
		switch {
		case m.wayOut == "" || f.Warning:
		case f.Fix == "":
			f.Fix = "Leave it out: " + m.wayOut
		default:
			f.Fix = binding.Sentence(f.Fix) + " Or leave it out: " + m.wayOut
		}
	}
}

// claim reserves the name of the member. If the name is taken, claim reports both components.
func (b *builder) claim(m *member) {
	id := identity{m.kind, m.listed}
	first, twice := b.taken[id]
	if !twice {
		b.taken[id] = m.made
		return
	}
	fix := "Rename one or use Group"
	if m.kind&kindsRead != 0 {
		fix = "Give one another URI"
	}
	m.fault(b, "", "registered twice: "+both(first, m.made), fix)
}

// both returns both call sites, or one if they are equal, such as a line in a loop.
func both(first, second string) string {
	if first == second {
		return first
	}
	return first + " and " + second
}

// bind compiles the member, builds its chain, and makes its catalog entry. If that fails, it
// reports faults and does not make an entry.
func (b *builder) bind(m *member) {
	if m.problem != "" {
		return // there is no function to bind
	}
	m.handler = &componentHandler{
		server:   b.server,
		declared: m.declaration,
		at:       m.at,
		timeout:  m.options.timeout,
		noun:     m.kind.String(),
		info:     m.info(),
	}
	if len(m.options.scopes) > 0 && b.server.cfg.auth == nil {
		m.warn(b, "it needs scopes, but the app has no authenticator", "Add WithAuth; not needed where the program's own HTTP middleware makes principals")
	}
	m.entry = &catalog.Entry{Key: m.listed, Scopes: m.options.scopes, Hidden: m.options.hidden, Handler: m.handler}
	m.compile(b, m)
	if m.failed {
		return
	}
	m.handler.steps = arranged(m.kind, b.server.chain, m.options.groupChain, m.options.ownChain)
	m.handler.run = compose(m.handler.answered(m.handler.invoke), m.handler.steps, m.broken(b))
	if m.entry.Complete != nil && !m.failed {
		m.entry.Complete = m.completing(b, m.entry.Complete)
	}
	if m.options.maySubscribe != nil {
		m.entry.Subscribe = m.handler.subscribing(m.options.maySubscribe)
	}
	if len(m.options.scopes) > 0 && !m.failed {
		m.handler.witnesses = witnessing(m.handler.steps, m.broken(b))
	}
	b.entries = append(b.entries, m.entry)
}

func (m *member) info() ComponentInfo {
	return ComponentInfo{
		Kind: m.kind.String(), Name: m.listed, Group: m.group, Scopes: slices.Clone(m.options.scopes),
		Annotations: m.options.hints, Meta: m.options.meta,
	}
}

// fault reports a fault of the member. The member is then not served.
func (m *member) fault(b *builder, path, problem, fix string) {
	m.failed = true
	m.report(b, Fault{Path: path, Problem: problem, Fix: fix})
}

// warn reports something that is allowed, but probably a mistake.
func (m *member) warn(b *builder, problem, fix string) {
	m.report(b, Fault{Problem: problem, Fix: fix, Warning: true})
}

func (m *member) report(b *builder, f Fault) {
	f.Component = fmt.Sprintf("%s %q", m.kind, m.listed)
	if f.Where != "" {
		f.declared = m.where
	} else {
		f.Where = m.where
	}
	f.Function = m.function
	b.faults = append(b.faults, f)
}

// adopt reports the faults that package binding has found. A fault with an Enum counts only if the
// source files declare constants of that type.
func (m *member) adopt(b *builder, faults []binding.Fault) {
	for _, f := range faults {
		if f.Enum != nil && !callsite.Constants(callsite.Beside(m.where, m.pkg, f.Enum.PkgPath()), f.Enum.Name()) {
			continue
		}
		m.failed = m.failed || !f.Warning
		m.report(b, Fault{Where: m.fieldPlace(f), Path: f.Path, Problem: f.Problem, Fix: f.Fix, Warning: f.Warning})
	}
}

// fieldPlace returns file:line of the field that has the fault. It returns "" if the source files
// are not on this machine, or not where the import paths of the function and of the struct suggest.
func (m *member) fieldPlace(f binding.Fault) string {
	if f.Owner == nil || f.Owner.Name() == "" || m.pkg == "" {
		return ""
	}
	name, _, _ := strings.Cut(f.Owner.Name(), "[") // of a generic type
	return callsite.Field(callsite.Beside(m.where, m.pkg, f.Owner.PkgPath()), name, f.Member)
}

// commit replaces the removed entries by the built ones, in one step. If there are faults, it
// changes nothing and returns a *BuildError.
func (b *builder) commit(outcome string) (catalog.Change, error) {
	if err := b.verdict(outcome); err != nil {
		return catalog.Change{}, err
	}
	return b.server.registry.Update(b.remove, b.entries), nil // claim has seen that all names are free
}

// verdict returns a *BuildError if a fault is not a warning. In strict mode it turns warnings into
// errors first. Equal faults, as of a component that was added twice, are reported once.
func (b *builder) verdict(outcome string) error {
	said := make(map[Fault]bool)
	b.faults = slices.DeleteFunc(b.faults, func(f Fault) bool {
		again := said[f]
		said[f] = true
		return again
	})
	if b.server.cfg.strict {
		for i := range b.faults {
			b.faults[i].Warning = false
		}
	}
	if !slices.ContainsFunc(b.faults, func(f Fault) bool { return !f.Warning }) {
		return nil
	}
	return &BuildError{Faults: b.faults, outcome: outcome}
}
