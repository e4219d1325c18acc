package dialect

import (
	"encoding/json"
	"maps"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// AppendClientCapabilities appends a ClientCapabilities object for initialize, for the _meta of
// requests (2026-07-28), or for the requiredCapabilities of an error. Capabilities that the
// revision does not have are left out.
func (d *Dialect) AppendClientCapabilities(dst []byte, c *protocol.ClientCapabilities) []byte {
	w := d.writer(dst)
	w.open('{')
	w.rawMap("experimental", c.Experimental)
	if c.Roots {
		w.key("roots")
		w.open('{')
		w.flag("listChanged", c.RootsListChanged && d.rootsChanged)
		w.shut('}')
	}
	if c.Sampling || c.SamplingTool || c.SamplingContext {
		w.key("sampling")
		w.open('{')
		w.emptyIf("context", c.SamplingContext && d.samplesWithTools)
		w.emptyIf("tools", c.SamplingTool && d.samplesWithTools)
		w.shut('}')
	}
	w.elicitation(c)
	if c.Tasks && d.coreTasks {
		w.clientTasks(c)
	}
	w.rawMap("extensions", d.extensionsWith(c.Extensions, c.Tasks))
	w.shut('}')
	return w.b
}

// elicitation writes the capability elicitation. From 2025-11-25 on it lists the modes. Before
// that, an empty object means form mode.
func (w *writer) elicitation(c *protocol.ClientCapabilities) {
	form, url := c.Elicitation, c.ElicitURL && w.d.elicitsURL
	if !w.d.elicits || (!form && !url) {
		return
	}
	w.key("elicitation")
	w.open('{')
	w.emptyIf("form", form && w.d.elicitModes)
	w.emptyIf("url", url)
	w.shut('}')
}

func (w *writer) clientTasks(c *protocol.ClientCapabilities) {
	w.key("tasks")
	w.open('{')
	w.emptyIf("list", c.TaskList)
	w.emptyIf("cancel", c.TaskCancel)
	w.key("requests")
	w.open('{')
	if c.TaskSampling {
		w.key("sampling")
		w.b = append(w.b, `{"createMessage":{}}`...)
	}
	if c.TaskElicitation {
		w.key("elicitation")
		w.b = append(w.b, `{"create":{}}`...)
	}
	w.shut('}')
	w.shut('}')
}

// extensionsWith returns the extensions to declare. The tasks extension exists only on 2026-07-28,
// where tasks adds or removes it (SEP-2663). Other extensions, such as io.modelcontextprotocol/ui,
// are also declared in initialize.
func (d *Dialect) extensionsWith(m map[string]json.RawMessage, tasks bool) map[string]json.RawMessage {
	_, has := m[extensionTasks]
	want := tasks && d.taskExtension
	if has == want {
		return m
	}
	m = maps.Clone(m)
	delete(m, extensionTasks)
	if want {
		if m == nil {
			m = map[string]json.RawMessage{}
		}
		m[extensionTasks] = json.RawMessage("{}")
	}
	return m
}

// AppendServerCapabilities appends a ServerCapabilities object. Capabilities that the revision does
// not have are left out.
func (d *Dialect) AppendServerCapabilities(dst []byte, c *protocol.ServerCapabilities) []byte {
	w := d.writer(dst)
	w.open('{')
	w.rawMap("experimental", c.Experimental)
	w.emptyIf("logging", c.Logging)
	w.emptyIf("completions", c.Completions && d.completions)
	w.listed("prompts", c.Prompts, false, c.PromptsListChanged)
	w.listed("resources", c.Resources, c.ResourcesSubscribe, c.ResourcesChanged)
	w.listed("tools", c.Tools, false, c.ToolsListChanged)
	if c.Tasks && d.coreTasks {
		w.key("tasks")
		w.open('{')
		w.emptyIf("list", c.TaskList)
		w.emptyIf("cancel", c.TaskCancel)
		w.key("requests")
		w.b = append(w.b, `{"tools":{"call":{}}}`...)
		w.shut('}')
	}
	w.rawMap("extensions", d.extensionsWith(c.Extensions, c.Tasks))
	w.shut('}')
	return w.b
}

func (w *writer) listed(name string, is, subscribe, changes bool) {
	if !is {
		return
	}
	w.key(name)
	w.open('{')
	w.flag("subscribe", subscribe)
	w.flag("listChanged", changes)
	w.shut('}')
}

// declarations changes each of fs to ignore a value that it cannot read. Some clients send true,
// null or a list where the schema requires an object. An unreadable capability counts as not
// declared (ADR 8).
func declarations[T any](fs fields[T]) fields[T] {
	for i, f := range fs {
		fs[i].read = func(d *Dialect, t *T, v []byte) *fail {
			before := *t
			if f.read(d, t, v) != nil {
				*t = before
			}
			return nil
		}
	}
	return fs
}

var clientCapabilityMembers = declarations(fields[protocol.ClientCapabilities]{
	{"experimental", optional, func(_ *Dialect, c *protocol.ClientCapabilities, v []byte) *fail {
		return readDeclared(&c.Experimental, v)
	}},
	{"roots", optional, func(d *Dialect, c *protocol.ClientCapabilities, v []byte) *fail {
		c.Roots = true
		return rootsCapability.decode(d, c, v)
	}},
	{"sampling", optional, func(d *Dialect, c *protocol.ClientCapabilities, v []byte) *fail {
		c.Sampling = true
		return samplingCapability.decode(d, c, v)
	}},
	{"elicitation", optional, readElicitation},
	{"tasks", optional, readClientTasks},
	{"extensions", optional, func(d *Dialect, c *protocol.ClientCapabilities, v []byte) *fail {
		return readExtensions(d, &c.Extensions, &c.Tasks, v)
	}},
})

var rootsCapability = declarations(fields[protocol.ClientCapabilities]{
	{"listChanged", optional, since(hasRootsChanged, func(_ *Dialect, c *protocol.ClientCapabilities, v []byte) *fail {
		return readBool(&c.RootsListChanged, v)
	})},
})

var samplingCapability = declarations(fields[protocol.ClientCapabilities]{
	{"context", optional, func(d *Dialect, c *protocol.ClientCapabilities, v []byte) *fail {
		return readIf(d.samplesWithTools, &c.SamplingContext, v)
	}},
	{"tools", optional, func(d *Dialect, c *protocol.ClientCapabilities, v []byte) *fail {
		return readIf(d.samplesWithTools, &c.SamplingTool, v)
	}},
})

// readIf is like readPresent if exists is true. Otherwise the revision does not have the member,
// and readIf ignores it.
func readIf(exists bool, to *bool, v []byte) *fail {
	if !exists {
		return nil
	}
	return readPresent(to, v)
}

// readElicitation reads the capability elicitation. {} means form mode only. On revisions without
// modes, so does any object. {"url":{}} alone means that the client has no form mode (2026-07-28
// client/elicitation "Capabilities").
func readElicitation(d *Dialect, c *protocol.ClientCapabilities, v []byte) *fail {
	if !d.elicits {
		return nil
	}
	if !d.elicitModes {
		return readPresent(&c.Elicitation, v)
	}
	if f := elicitationCapability.decode(d, c, v); f != nil {
		return f
	}
	if jsontext.Len(v) == 0 {
		c.Elicitation = true
	}
	return nil
}

var elicitationCapability = declarations(fields[protocol.ClientCapabilities]{
	{"form", optional, func(_ *Dialect, c *protocol.ClientCapabilities, v []byte) *fail {
		return readPresent(&c.Elicitation, v)
	}},
	{"url", optional, func(_ *Dialect, c *protocol.ClientCapabilities, v []byte) *fail {
		return readPresent(&c.ElicitURL, v)
	}},
})

// readClientTasks reads the core capability of 2025-11-25. On 2026-07-28 it
// does not count as declaring the extension (SEP-2663 "Backward Compatibility").
func readClientTasks(d *Dialect, c *protocol.ClientCapabilities, v []byte) *fail {
	if !d.coreTasks {
		return nil
	}
	c.Tasks = true
	return clientTasksMembers.decode(d, c, v)
}

var clientTasksMembers = declarations(fields[protocol.ClientCapabilities]{
	{"list", optional, func(_ *Dialect, c *protocol.ClientCapabilities, v []byte) *fail { return readPresent(&c.TaskList, v) }},
	{"cancel", optional, func(_ *Dialect, c *protocol.ClientCapabilities, v []byte) *fail { return readPresent(&c.TaskCancel, v) }},
	{"requests", optional, func(d *Dialect, c *protocol.ClientCapabilities, v []byte) *fail {
		return clientTaskRequests.decode(d, c, v)
	}},
})

var clientTaskRequests = declarations(fields[protocol.ClientCapabilities]{
	{"sampling", optional, func(_ *Dialect, c *protocol.ClientCapabilities, v []byte) *fail {
		return readHas(&c.TaskSampling, v, "createMessage")
	}},
	{"elicitation", optional, func(_ *Dialect, c *protocol.ClientCapabilities, v []byte) *fail {
		return readHas(&c.TaskElicitation, v, "create")
	}},
})

// readHas sets to if v has a member name that is an object.
func readHas(to *bool, v []byte, name string) *fail {
	v, f := objectOf(v)
	if f != nil {
		return f
	}
	inner, ok := jsontext.Member(v, name)
	if !ok {
		return nil
	}
	if f := readPresent(to, inner); f != nil {
		return f.in(name)
	}
	return nil
}

// readExtensions keeps all extensions raw, including unknown ones. The tasks extension sets tasks
// only on 2026-07-28 (SEP-2663).
func readExtensions(d *Dialect, to *map[string]json.RawMessage, tasks *bool, v []byte) *fail {
	if f := readDeclared(to, v); f != nil {
		return f
	}
	if _, ok := (*to)[extensionTasks]; ok && d.taskExtension {
		*tasks = true
	}
	return nil
}

// readDeclared reads an object whose values are objects, which it keeps raw. Values of other kinds
// are ignored.
func readDeclared(to *map[string]json.RawMessage, v []byte) *fail {
	v, f := objectOf(v)
	if f != nil {
		return f
	}
	all := make(map[string]json.RawMessage, jsontext.Len(v))
	for key, e := range jsontext.Members(v) {
		name := key.String()
		if _, ok := all[name]; ok {
			return refuse("is repeated").in(name)
		}
		if object, f := objectOf(e); f == nil {
			all[name] = object
		}
	}
	*to = all
	return nil
}

var serverCapabilityMembers = declarations(fields[protocol.ServerCapabilities]{
	{"experimental", optional, func(_ *Dialect, c *protocol.ServerCapabilities, v []byte) *fail {
		return readDeclared(&c.Experimental, v)
	}},
	{"logging", optional, func(_ *Dialect, c *protocol.ServerCapabilities, v []byte) *fail { return readPresent(&c.Logging, v) }},
	{"completions", optional, since(hasCompletions, func(_ *Dialect, c *protocol.ServerCapabilities, v []byte) *fail {
		return readPresent(&c.Completions, v)
	})},
	{"prompts", optional, func(_ *Dialect, c *protocol.ServerCapabilities, v []byte) *fail {
		c.Prompts = true
		return readFlag(&c.PromptsListChanged, v, "listChanged")
	}},
	{"resources", optional, func(_ *Dialect, c *protocol.ServerCapabilities, v []byte) *fail {
		c.Resources = true
		if f := readFlag(&c.ResourcesSubscribe, v, "subscribe"); f != nil {
			return f
		}
		return readFlag(&c.ResourcesChanged, v, "listChanged")
	}},
	{"tools", optional, func(_ *Dialect, c *protocol.ServerCapabilities, v []byte) *fail {
		c.Tools = true
		return readFlag(&c.ToolsListChanged, v, "listChanged")
	}},
	{"tasks", optional, readServerTasks},
	{"extensions", optional, func(d *Dialect, c *protocol.ServerCapabilities, v []byte) *fail {
		return readExtensions(d, &c.Extensions, &c.Tasks, v)
	}},
})

// readFlag reads a boolean member of an object. An absent member is false.
func readFlag(to *bool, v []byte, name string) *fail {
	v, f := objectOf(v)
	if f != nil {
		return f
	}
	inner, ok := jsontext.Member(v, name)
	if !ok {
		return nil
	}
	if f := readBool(to, inner); f != nil {
		return f.in(name)
	}
	return nil
}

func readServerTasks(d *Dialect, c *protocol.ServerCapabilities, v []byte) *fail {
	if !d.coreTasks {
		return nil
	}
	return serverTasksMembers.decode(d, c, v)
}

var serverTasksMembers = declarations(fields[protocol.ServerCapabilities]{
	{"list", optional, func(_ *Dialect, c *protocol.ServerCapabilities, v []byte) *fail { return readPresent(&c.TaskList, v) }},
	{"cancel", optional, func(_ *Dialect, c *protocol.ServerCapabilities, v []byte) *fail { return readPresent(&c.TaskCancel, v) }},
	{"requests", optional, func(d *Dialect, c *protocol.ServerCapabilities, v []byte) *fail {
		return serverTaskRequests.decode(d, c, v)
	}},
})

var serverTaskRequests = declarations(fields[protocol.ServerCapabilities]{
	{"tools", optional, func(_ *Dialect, c *protocol.ServerCapabilities, v []byte) *fail { return readHas(&c.Tasks, v, "call") }},
})

func readClientCapabilities(d *Dialect, to *protocol.ClientCapabilities, v []byte) *fail {
	return clientCapabilityMembers.decode(d, to, v)
}

func readServerCapabilities(d *Dialect, to *protocol.ServerCapabilities, v []byte) *fail {
	return serverCapabilityMembers.decode(d, to, v)
}
