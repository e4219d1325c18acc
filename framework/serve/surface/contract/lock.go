package contract

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// format is the format number of lock files. Parse refuses other formats.
const format = 1

// Lock contains all components of a server.
type Lock struct {
	Format   int    `json:"kagamiLock"`
	Revision string `json:"revision"` // revision of the connection that read it
	// Complete reports that the components include those that need scopes, with the scopes. A
	// client did not read such a surface; the server's own process did.
	Complete     bool            `json:"complete,omitempty"`
	Server       json.RawMessage `json:"server"` // without its version
	Instructions string          `json:"instructions,omitempty"`
	Capabilities []string        `json:"capabilities"`
	Tools        []Entry         `json:"tools,omitempty"`
	Resources    []Entry         `json:"resources,omitempty"`
	Templates    []Entry         `json:"resourceTemplates,omitempty"`
	Prompts      []Entry         `json:"prompts,omitempty"`
}

// Entry is one component.
type Entry struct {
	Key    string               `json:"-"`                // name, URI or URI template
	Scopes []string             `json:"scopes,omitempty"` // only in a complete lock
	Tasks  protocol.TaskSupport `json:"tasks,omitempty"`  // for a tool; empty if unknown
	Listed json.RawMessage      `json:"listed"`           // in the form of the newest revision
}

// Read reads all components that the server offers to this client.
func Read(ctx context.Context, c *client.Client) (*Lock, error) {
	all, err := surface.Read(ctx, c, surface.All)
	if err != nil {
		return nil, err
	}
	l := &Lock{Format: format, Revision: all.Revision, Instructions: all.Instructions}
	caps := c.Capabilities()
	l.Capabilities = capabilities(&caps)
	d := newest()
	if l.Server, err = withoutVersion(d.AppendImplementation(nil, &all.Server)); err != nil {
		return nil, err
	}
	if err := errors.Join(
		list(&l.Tools, all.Tools, d.AppendTool),
		list(&l.Resources, all.Resources, d.AppendResource),
		list(&l.Templates, all.Templates, d.AppendTemplate),
		list(&l.Prompts, all.Prompts, d.AppendPrompt),
		l.settle(),
	); err != nil {
		return nil, err
	}
	if all.Revision == ListsTasks().String() {
		l.SetTasks(all.Tools)
	}
	return l, nil
}

// ListsTasks returns the newest revision whose list of tools has the task support of each tool
// (2025-11-25 server/tools "execution"). Later revisions do not list it.
func ListsTasks() *dialect.Dialect { return dialect.Handshake("") }

// SetTasks sets the task support of each tool, from a list of tools of [ListsTasks].
func (l *Lock) SetTasks(tools []protocol.Tool) {
	support := make(map[string]protocol.TaskSupport, len(tools))
	for _, t := range tools {
		support[t.Name] = cmp.Or(t.TaskSupport, protocol.TaskForbidden)
	}
	for i := range l.Tools {
		l.Tools[i].Tasks = support[l.Tools[i].Key]
	}
}

func newest() *dialect.Dialect {
	all := dialect.All()
	return all[len(all)-1]
}

func withoutVersion(raw []byte) (json.RawMessage, error) {
	var who map[string]json.RawMessage
	if err := json.Unmarshal(raw, &who); err != nil {
		return nil, fmt.Errorf("reading who the server is: %w", err)
	}
	delete(who, "version")
	return json.Marshal(who)
}

func list[T any](into *[]Entry, items []T, wire func([]byte, *T) ([]byte, error)) error {
	for i := range items {
		raw, err := wire(nil, &items[i])
		if err != nil {
			return err
		}
		*into = append(*into, Entry{Listed: raw})
	}
	return nil
}

// capabilities returns the names of the capabilities, sorted. List changes have names such as
// "tools.listChanged".
func capabilities(c *protocol.ServerCapabilities) []string {
	names := []string{}
	for name, has := range map[string]bool{
		"tools": c.Tools, "tools.listChanged": c.ToolsListChanged,
		"resources": c.Resources, "resources.subscribe": c.ResourcesSubscribe, "resources.listChanged": c.ResourcesChanged,
		"prompts": c.Prompts, "prompts.listChanged": c.PromptsListChanged,
		"completions": c.Completions, "logging": c.Logging,
		"tasks": c.Tasks, "tasks.list": c.TaskList, "tasks.cancel": c.TaskCancel,
	} {
		if has {
			names = append(names, name)
		}
	}
	for name := range c.Extensions {
		names = append(names, "extensions."+name)
	}
	for name := range c.Experimental {
		names = append(names, "experimental."+name)
	}
	slices.Sort(names)
	return names
}

// kinds returns the kinds of components, each with the member that identifies a component.
func (l *Lock) kinds() []kind {
	return []kind{
		{"tool", "name", l.Tools, tools},
		{"resource", "uri", l.Resources, resources},
		{"resource template", "uriTemplate", l.Templates, resources},
		{"prompt", "name", l.Prompts, prompts},
	}
}

type kind struct {
	noun, key string
	entries   []Entry
	compare   func(*report, object, object)
}

// settle sets the keys of all entries and sorts the entries by key.
func (l *Lock) settle() error {
	for _, k := range l.kinds() {
		for i := range k.entries {
			listed, err := parseObject(k.entries[i].Listed)
			if err != nil {
				return fmt.Errorf("reading a %s: %w", k.noun, err)
			}
			name, ok := listed[k.key].(string)
			if !ok {
				return fmt.Errorf("reading a %s: it has no %s", k.noun, k.key)
			}
			k.entries[i].Key = name
			k.entries[i].Listed = jsontext.Compact(nil, k.entries[i].Listed)
		}
		slices.SortStableFunc(k.entries, func(a, b Entry) int { return cmp.Compare(a.Key, b.Key) })
	}
	return nil
}

// Parse parses a lock file. If the format is unknown, it returns an error.
func Parse(raw []byte) (*Lock, error) {
	var head struct { // decoded first, because other versions may have other members
		Format int `json:"kagamiLock"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, fmt.Errorf("reading a lock file: %w", err)
	}
	if head.Format != format {
		return nil, fmt.Errorf("reading a lock file: its form is number %d, want %d", head.Format, format)
	}
	l := &Lock{}
	if err := json.Unmarshal(raw, l); err != nil {
		return nil, fmt.Errorf("reading a lock file: %w", err)
	}
	if err := l.settle(); err != nil {
		return nil, fmt.Errorf("reading a lock file: %w", err)
	}
	return l, nil
}

// IsLock reports whether a text is meant to be a lock file, perhaps in another format.
func IsLock(raw []byte) bool {
	var head struct {
		Format *int `json:"kagamiLock"`
	}
	return json.Unmarshal(raw, &head) == nil && head.Format != nil
}

// Encode returns the text of the lock file.
func (l *Lock) Encode() ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(l); err != nil {
		return nil, fmt.Errorf("writing a lock file: %w", err)
	}
	return out.Bytes(), nil
}

// object is a JSON object. Numbers are json.Number.
type object = map[string]any

func parseObject(raw []byte) (object, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var o object
	if err := d.Decode(&o); err != nil {
		return nil, err
	}
	return o, nil
}

// canonical returns a value's JSON with sorted members. Equal values have equal texts.
func canonical(v any) string {
	raw, err := json.Marshal(v)
	if err != nil { // it came from JSON
		return ""
	}
	return string(raw)
}
