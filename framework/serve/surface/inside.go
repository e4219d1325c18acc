package surface

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/kagami-mcp/kagami/protocol"
)

// Inside is what a server reports about itself and a client cannot see.
type Inside struct {
	Components []Component `json:"components"`
	Lists      []Step      `json:"listChain"` // steps for every list
	Warnings   []Warning   `json:"warnings,omitempty"`
}

// Warning describes a declaration that works, but was most likely not intended.
type Warning struct {
	Component string `json:"component"`          // kind and name, such as: tool "refund"
	Where     string `json:"where,omitempty"`    // file:line
	Function  string `json:"function,omitempty"` // function of the component
	Path      string `json:"path,omitempty"`     // path of the field, such as Refund.Amount
	Problem   string `json:"problem"`
	Fix       string `json:"fix,omitempty"`
}

// Component is a tool, resource, template, prompt or method.
type Component struct {
	Kind     string   `json:"kind"`
	Name     string   `json:"name"` // as listed; for resources the URI or URI template
	Group    string   `json:"group,omitempty"`
	Scopes   []string `json:"scopes,omitempty"`
	Hidden   bool     `json:"hidden,omitempty"`
	Function string   `json:"function,omitempty"`
	Where    string   `json:"where,omitempty"` // file:line of the function
	Added    string   `json:"added,omitempty"` // file:line that added it to the server
	Chain    []Step   `json:"chain"`           // outermost first
}

// sentence returns the warning without its component.
func (w *Warning) sentence() string {
	text := w.Problem
	switch {
	case w.Path != "" && w.Where != "":
		text = w.Path + " (" + w.Where + "): " + text
	case w.Path != "":
		text = w.Path + ": " + text
	}
	if w.Fix != "" {
		text += ". " + w.Fix
	}
	return text
}

// Step is one step of a chain.
type Step struct {
	Name    string `json:"name"`
	Origin  string `json:"origin"`          // "engine", "app", "group" or "component"
	Phase   string `json:"phase,omitempty"` // empty for steps of the engine
	PerCall bool   `json:"perCall,omitempty"`
}

// Parse parses the output of WriteJSON: a surface with its Inside. If doc is something else, Parse
// returns an error.
func Parse(doc []byte) (*Surface, error) {
	var raw document[json.RawMessage]
	if err := json.Unmarshal(doc, &raw); err != nil {
		return nil, fmt.Errorf("reading a surface: %w", err)
	}
	server := serverIn(raw.Server)
	if raw.Revision == "" || server.Name == "" {
		return nil, errors.New("reading a surface: no server")
	}
	s := &Surface{Server: server, Revision: raw.Revision, Instructions: raw.Instructions, Inside: raw.Inside}
	return s, errors.Join(
		s.parse(Tools, raw.Tools), s.parse(Resources, raw.Resources),
		s.parse(Templates, raw.Templates), s.parse(Prompts, raw.Prompts),
	)
}

// serverIn reads the server's name and version with the dialect that wrote them. If that fails, it
// returns an empty value.
func serverIn(raw json.RawMessage) protocol.Implementation {
	if raw == nil {
		return protocol.Implementation{}
	}
	result, fault := newest().DecodeResult(protocol.MethodDiscover, fmt.Appendf(nil,
		`{"resultType":"complete","supportedVersions":[],"capabilities":{},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":%s}}`, raw))
	if found, ok := result.(*protocol.DiscoverResult); ok && fault == nil {
		return found.Server
	}
	return protocol.Implementation{}
}

// Fill reads one part from its entries, in the form of the newest revision.
func (s *Surface) Fill(part Part, entries []json.RawMessage) error {
	list, err := json.Marshal(append([]json.RawMessage{}, entries...))
	if err != nil {
		return fmt.Errorf("reading a surface: %w", err)
	}
	return s.parse(part, list)
}

// lists maps each part to its list, and to the member that has the entries.
var lists = map[Part]struct {
	kind   protocol.ListKind
	member string
}{
	Tools:     {protocol.ListTools, "tools"},
	Resources: {protocol.ListResources, "resources"},
	Templates: {protocol.ListTemplates, "resourceTemplates"},
	Prompts:   {protocol.ListPrompts, "prompts"},
}

// parse reads one list with the dialect that wrote it.
func (s *Surface) parse(part Part, list json.RawMessage) error {
	if list == nil {
		return nil
	}
	l, one := lists[part]
	if !one {
		return errors.New("reading a surface: a part is one kind of component")
	}
	result, fault := newest().DecodeResult(l.kind.Method(), fmt.Appendf(nil, `{"resultType":"complete","ttlMs":0,"cacheScope":"private",%q:%s}`, l.member, list))
	if fault != nil {
		return fmt.Errorf("reading the %s of a surface: %w", l.member, fault)
	}
	s.Parts |= part
	switch r := result.(type) {
	case *protocol.ListToolsResult:
		s.Tools = r.Tools
	case *protocol.ListResourcesResult:
		s.Resources = r.Resources
	case *protocol.ListTemplatesResult:
		s.Templates = r.Templates
	case *protocol.ListPromptsResult:
		s.Prompts = r.Prompts
	}
	return nil
}

func (in *Inside) byName() map[[2]string]*Component {
	if in == nil {
		return nil
	}
	all := make(map[[2]string]*Component, len(in.Components))
	for i := range in.Components {
		c := &in.Components[i]
		all[[2]string{c.Kind, c.Name}] = c
	}
	return all
}

// origin prints what the server itself reports about a component. It removes the component from
// inside; components that remain are in no list.
func (p *printer) origin(kind, name string) {
	key := [2]string{kind, name}
	c := p.inside[key]
	if c == nil {
		return
	}
	delete(p.inside, key)
	if len(c.Scopes) > 0 {
		p.line("    needs %s", strings.Join(c.Scopes, " "))
	}
	from := strings.TrimSpace(c.Where + " " + c.Function)
	if c.Added != "" && c.Added != c.Where {
		from = strings.TrimPrefix(from+", added at "+c.Added, ", ")
	}
	if from != "" {
		p.line("    from %s", from)
	}
	p.chain(c.Chain)
}

func (p *printer) chain(steps []Step) {
	if !p.chains {
		return
	}
	var table [][3]string
	for _, s := range steps {
		row := [3]string{s.Name, s.Origin, ""}
		if s.Phase != "" {
			row[1], row[2] = s.Phase, "of the "+s.Origin
		}
		if s.PerCall {
			row[2] += ", once per call"
		}
		table = append(table, row)
	}
	p.fields("chain", table)
}

// unlisted prints the components that are in no list, the warnings, and the chain of the lists.
func (p *printer) unlisted(s *Surface) {
	var rest []*Component
	for i := range s.Inside.Components {
		c := &s.Inside.Components[i]
		if p.inside[[2]string{c.Kind, c.Name}] != nil {
			rest = append(rest, c)
		}
	}
	p.section("Not listed", len(rest), func(i int) {
		note := rest[i].Kind
		if rest[i].Hidden {
			note += ", hidden"
		}
		p.entry(rest[i].Name, "", "", note)
		p.origin(rest[i].Kind, rest[i].Name)
	})
	p.section("Warnings", len(s.Inside.Warnings), func(i int) {
		if w := s.Inside.Warnings; i == 0 || w[i].Component != w[i-1].Component {
			p.line("  %s", w[i].Component)
		}
		p.line("    %s", s.Inside.Warnings[i].sentence())
	})
	if p.chains {
		p.section("Lists", 1, func(int) { p.chain(s.Inside.Lists) })
	}
}
