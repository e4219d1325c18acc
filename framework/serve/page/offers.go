package page

import (
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/framework/serve/surface/profile"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// offer is one entry of a list, as the server sent it, with what the page adds.
type offer struct {
	Listed json.RawMessage `json:"listed"`
	Name   string          `json:"name"` // address in the page: the name, or the URI
	Tokens int             `json:"tokens"`
	Inside *inside         `json:"inside,omitempty"`
	Fits   []misfit        `json:"fits,omitempty"` // what clients do not accept in a tool
}

// misfit is a property of a tool or server that one client does not accept unchanged.
type misfit struct {
	Client string `json:"client"`
	Level  string `json:"level"` // refused or changed
	What   string `json:"what"`
	Where  string `json:"where"`
	Source string `json:"source"`
	Seen   string `json:"seen"`
}

// inside is what the server's own process reports about a component.
type inside struct {
	Where    string         `json:"where,omitempty"`
	Function string         `json:"function,omitempty"`
	Scopes   []string       `json:"scopes,omitempty"`
	Chain    []surface.Step `json:"chain,omitempty"`
}

// offers holds all components of the server.
type offers struct {
	Tag       string  `json:"tag"` // changes when a list changes
	Tools     []offer `json:"tools"`
	Resources []offer `json:"resources"`
	Templates []offer `json:"templates"`
	Prompts   []offer `json:"prompts"`
	Failed    string  `json:"failed,omitempty"` // the lists that could not be read, and why

	Secrets []string `json:"secrets"`           // names of secret arguments
	Clients []string `json:"clients,omitempty"` // clients that Fits may name
	Fits    []misfit `json:"fits,omitempty"`    // what clients do not accept in the server as a whole
}

// listed is the set of names in a list.
type listed map[string]struct{}

// offers reads all lists.
func (p *Page) offers(ctx context.Context) (*offers, error) {
	if p.saved != nil {
		return p.saved.Offers, nil
	}
	s, err := p.connected(ctx, false)
	if err != nil {
		return nil, err
	}
	all, err := p.offersOf(ctx, s)
	if err != nil {
		if s = p.replaced(s); s != nil {
			return p.offersOf(ctx, s)
		}
	}
	return all, err
}

// offersOf returns what the server of the connection offers.
func (p *Page) offersOf(ctx context.Context, s *session) (*offers, error) {
	s.listening(ctx)
	has := s.client.Capabilities()
	own := p.insides()
	all := &offers{}
	var failures []string
	for _, l := range []struct {
		has                        bool
		method, member, name, kind string
		into                       *[]offer
	}{
		{has.Tools, protocol.MethodListTools, "tools", "name", "tool", &all.Tools},
		{has.Resources, protocol.MethodListResources, "resources", "uri", "resource", &all.Resources},
		{has.Resources, protocol.MethodListTemplates, "resourceTemplates", "uriTemplate", "template", &all.Templates},
		{has.Prompts, protocol.MethodListPrompts, "prompts", "name", "prompt", &all.Prompts},
	} {
		*l.into = []offer{}
		if !l.has {
			continue
		}
		entries, err := surface.Entries(ctx, s.client, l.method, l.member)
		if err != nil {
			if errors.Is(ctx.Err(), context.Canceled) { // the browser has left, which says nothing about the lists
				return nil, err
			}
			p.failed(s, err)
			if lost(err) {
				return nil, err
			}
			if refused, ok := errors.AsType[*protocol.Error](err); !ok || refused.Code != -32601 || l.kind != "template" {
				failures = append(failures, l.method+": "+p.explained(err).Message)
			}
			continue
		}
		for _, entry := range entries {
			if jsontext.KindOf(entry) != jsontext.KindObject {
				continue // the server sent an invalid entry
			}
			one := offer{Listed: entry, Name: textIn(entry, l.name), Tokens: tokens(entry)}
			one.Inside = own[[2]string{l.kind, one.Name}]
			*l.into = append(*l.into, one)
		}
	}
	all.Failed = strings.Join(failures, "\n")
	all.judge(s)
	p.remember(all)
	return all, nil
}

// judge adds what known clients do not accept. If a list cannot be parsed, judge adds nothing.
func (o *offers) judge(s *session) {
	o.Clients, o.Fits = profile.Names(), []misfit{}
	seen := &surface.Surface{Server: s.client.Server(), Instructions: s.client.Instructions()}
	entries, at := make([]json.RawMessage, len(o.Tools)), map[string]int{}
	for i, tool := range o.Tools {
		entries[i], at[tool.Name] = tool.Listed, i
	}
	if seen.Fill(surface.Tools, entries) != nil {
		return
	}
	for _, f := range profile.Check(seen, "all") {
		one := misfit{f.Profile, string(f.Level), f.What, f.Where, f.Source, f.Seen}
		if i, ofTool := at[f.Tool]; ofTool && f.Tool != "" {
			o.Tools[i].Fits = append(o.Tools[i].Fits, one)
		} else {
			o.Fits = append(o.Fits, one)
		}
	}
}

// remember stores the names and the names of secret arguments, and adds an event if the lists have
// changed. If a list could not be read, the former names of secrets stay, and nothing has changed.
func (p *Page) remember(all *offers) {
	names, hash := listed{}, fnv.New64a()
	for _, l := range [][]offer{all.Tools, all.Resources, all.Templates, all.Prompts} {
		for _, one := range l {
			names[one.Name] = struct{}{}
			_, _ = hash.Write(one.Listed) // never fails
		}
		_, _ = hash.Write([]byte{0})
	}
	all.Tag = strconv.FormatUint(hash.Sum64(), 36)
	all.Secrets = secretArguments(all.Tools, all.Prompts)
	p.mu.Lock()
	before, tag := p.known, p.tag
	if all.Failed == "" {
		p.known, p.tag = names, all.Tag
	} else {
		all.Secrets = union(all.Secrets, p.secrets)
	}
	p.offered, p.secrets = all, all.Secrets
	p.secret = finding(p.secretNames())
	p.mu.Unlock()
	if before != nil && tag != all.Tag && all.Failed == "" {
		p.events.add("offers", map[string]any{"tag": all.Tag, "added": missing(names, before), "removed": missing(before, names)})
	}
}

// missing returns the names of a that are not in b.
func missing(a, b listed) []string {
	list := []string{}
	for name := range a {
		if _, ok := b[name]; !ok {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// insides returns the server's own reports about its components, by kind and name.
func (p *Page) insides() map[[2]string]*inside {
	if p.options.Inside == nil {
		return nil
	}
	all := map[[2]string]*inside{}
	if known := p.options.Inside(); known != nil {
		for _, c := range known.Components {
			all[[2]string{c.Kind, c.Name}] = &inside{Where: c.Where, Function: c.Function, Scopes: c.Scopes, Chain: c.Chain}
		}
	}
	return all
}

// tokens returns about how many tokens a component costs if a client lists it to a model. The
// arguments of a prompt count as its schema, and the URI of a resource as a part of its name.
func tokens(entry json.RawMessage) int {
	schema, ok := jsontext.Member(entry, "inputSchema")
	if !ok {
		schema, _ = jsontext.Member(entry, "arguments")
	}
	return profile.Tokens(&protocol.Tool{
		Name:        textIn(entry, "name") + textIn(entry, "uri") + textIn(entry, "uriTemplate"),
		Description: textIn(entry, "description"),
		InputSchema: schema,
	})
}

func textIn(object []byte, name string) string {
	value, _ := jsontext.Member(object, name)
	text, _ := jsontext.String(value)
	return text
}

// secretArguments returns the names of secret arguments. Their schema marks them as secret
// (writeOnly, format password, or x-secret), or their name suggests a secret. The arguments of a
// prompt have no schema.
func secretArguments(tools, prompts []offer) []string {
	found := map[string]struct{}{}
	for _, tool := range tools {
		schema, _ := jsontext.Member(tool.Listed, "inputSchema")
		collectSecrets(schema, found, 0)
	}
	for _, prompt := range prompts {
		arguments, _ := jsontext.Member(prompt.Listed, "arguments")
		if jsontext.KindOf(arguments) != jsontext.KindArray {
			continue
		}
		for argument := range jsontext.Elements(arguments) {
			if jsontext.KindOf(argument) != jsontext.KindObject {
				continue
			}
			if name := textIn(argument, "name"); hides(name) {
				found[name] = struct{}{}
			}
		}
	}
	return append([]string{}, slices.Sorted(maps.Keys(found))...)
}

// maxFields is the maximum number of names of secret fields that are kept, of all questions but the last.
const maxFields = 1000

// secretFields returns the names of the secret fields of a question. From then on they are masked as
// secret arguments are. When there are too many names, the names of earlier questions are forgotten:
// what was kept before is masked already.
func (p *Page) secretFields(schema json.RawMessage) []string {
	if jsontext.Check(schema, jsontext.DefaultLimits()) != nil {
		return nil
	}
	found := map[string]struct{}{}
	collectSecrets(schema, found, 0)
	return p.addSecretNames(found)
}

// addSecretMembers finds members of arguments with names that suggest a secret, and masks them from then on.
// They may be keys of a map, and then the schema does not have their names.
func (p *Page) addSecretMembers(arguments json.RawMessage) {
	if jsontext.Check(arguments, jsontext.DefaultLimits()) != nil {
		return
	}
	found := map[string]struct{}{}
	collectNames(arguments, found)
	p.addSecretNames(found)
}

func collectNames(value []byte, found map[string]struct{}) {
	switch jsontext.KindOf(value) {
	case jsontext.KindArray:
		for element := range jsontext.Elements(value) {
			collectNames(element, found)
		}
	case jsontext.KindObject:
		for key, member := range jsontext.Members(value) {
			if hides(key.String()) {
				found[key.String()] = struct{}{}
			}
			collectNames(member, found)
		}
	}
}

// addSecretNames adds names to the masked names, and returns the added names in order.
func (p *Page) addSecretNames(found map[string]struct{}) []string {
	names := slices.Sorted(maps.Keys(found))
	if len(names) == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.fields) > maxFields {
		p.fields = nil
	}
	p.fields = union(p.fields, names)
	p.secret = finding(p.secretNames())
	return names
}

// secretNames returns the names of secret arguments and fields. The caller holds mu.
func (p *Page) secretNames() []string { return union(p.secrets, p.fields) }

// union returns the names in a or b, in order. It is never nil.
func union(a, b []string) []string {
	all := append(append([]string{}, a...), b...)
	slices.Sort(all)
	return slices.Compact(all)
}

// aText matches a JSON string.
const aText = `"(?:[^"\\]|\\.)*"`

// finding returns expressions that match members with these names in JSON, if their value is a
// string or a list of strings. There are several, because an expression of very many names may not
// compile.
func finding(names []string) []*regexp.Regexp {
	var all []*regexp.Regexp
	for part := range slices.Chunk(names, 100) {
		quoted := make([]string, len(part))
		for i, name := range part {
			quoted[i] = regexp.QuoteMeta(name)
		}
		all = append(all, regexp.MustCompile(`"(`+strings.Join(quoted, "|")+`)"\s*:\s*(?:`+aText+`|(\[)\s*(?:`+aText+`\s*,?\s*)+(\]))`))
	}
	return all
}

// deepest bounds how deep a schema is searched for secrets.
const deepest = 32

func collectSecrets(schema []byte, found map[string]struct{}, depth int) {
	if depth > deepest {
		return
	}
	switch jsontext.KindOf(schema) {
	case jsontext.KindArray:
		for element := range jsontext.Elements(schema) {
			collectSecrets(element, found, depth+1)
		}
	case jsontext.KindObject:
		if properties, ok := jsontext.Member(schema, "properties"); ok && jsontext.KindOf(properties) == jsontext.KindObject {
			hiddenNames(properties, found)
		}
		for _, value := range jsontext.Members(schema) {
			collectSecrets(value, found, depth+1)
		}
	}
}

func isSecret(property []byte) bool {
	if jsontext.KindOf(property) != jsontext.KindObject {
		return false
	}
	for _, mark := range []string{"writeOnly", "x-secret"} {
		if value, ok := jsontext.Member(property, mark); ok && string(value) == "true" {
			return true
		}
	}
	return textIn(property, "format") == "password"
}

// mask replaces secret arguments and fields in a JSON text.
func (p *Page) mask(text []byte) []byte {
	p.mu.Lock()
	secret := p.secret
	p.mu.Unlock()
	for _, one := range secret {
		text = one.ReplaceAll(text, []byte(`"$1":${2}"•••"${3}`)) // a list stays one, so that a record fits the schema
	}
	return text
}
