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
	dst, _ = clientCapabilityMembers.append(d, dst, c) // flags and objects do not fail
	return dst
}

// declarations changes each of ms to ignore a value that it cannot read. Some clients send true,
// null or a list where the schema requires an object. An unreadable capability counts as not
// declared (ADR 8).
func declarations[T any](ms members[T]) members[T] {
	for i, f := range ms.all {
		ms.all[i].read = func(d *Dialect, t any, v []byte) *fail {
			c := model[T](t)
			before := *c
			if f.read(d, t, v) != nil {
				*c = before
			}
			return nil
		}
	}
	return ms
}

var clientCapabilityMembers = declarations(rows[protocol.ClientCapabilities](
	optional("experimental", declared, func(c *protocol.ClientCapabilities) *map[string]json.RawMessage { return &c.Experimental }),
	whole("roots", declares(rootsMembers, func(c *protocol.ClientCapabilities) *bool { return &c.Roots })),
	whole("sampling", declares(samplingMembers, func(c *protocol.ClientCapabilities) *bool { return &c.Sampling })).
		when(func(c *protocol.ClientCapabilities) bool { return c.Sampling || c.SamplingTool || c.SamplingContext }),
	whole("elicitation", elicitationCapability).since(protocol.Rev20250618),
	whole("tasks", declares(clientTasksMembers, func(c *protocol.ClientCapabilities) *bool { return &c.Tasks })).only(coreTasks),
	whole("extensions", extensions(func(c *protocol.ClientCapabilities) (*map[string]json.RawMessage, *bool) {
		return &c.Extensions, &c.Tasks
	})),
))

var rootsMembers = declarations(rows[protocol.ClientCapabilities](
	optional("listChanged", boolean, func(c *protocol.ClientCapabilities) *bool { return &c.RootsListChanged }).only(sessions),
))

var samplingMembers = declarations(rows[protocol.ClientCapabilities](
	optional("context", present, func(c *protocol.ClientCapabilities) *bool { return &c.SamplingContext }).since(protocol.Rev20251125),
	optional("tools", present, func(c *protocol.ClientCapabilities) *bool { return &c.SamplingTool }).since(protocol.Rev20251125),
))

// elicitationCapability is the capability elicitation. {} means form mode only. On revisions
// without modes, so does any object. {"url":{}} alone means that the client has no form mode
// (2026-07-28 client/elicitation "Capabilities").
var elicitationCapability = kind[protocol.ClientCapabilities]{
	read: func(d *Dialect, c *protocol.ClientCapabilities, v []byte) *fail {
		if !elicitModes.has(d) {
			return readPresent(d, &c.Elicitation, v)
		}
		if f := elicitationModes.decode(d, c, v); f != nil {
			return f
		}
		for _, mode := range jsontext.Members(v) {
			if jsontext.KindOf(mode) != jsontext.KindNull {
				return nil
			}
		}
		c.Elicitation = true
		return nil
	},
	write: func(d *Dialect, dst []byte, c *protocol.ClientCapabilities) ([]byte, error) {
		if !c.Elicitation && (!c.ElicitURL || !elicitModes.has(d)) {
			return dst, nil
		}
		return elicitationModes.append(d, dst, c)
	},
}

var elicitationModes = declarations(rows[protocol.ClientCapabilities](
	optional("form", present, func(c *protocol.ClientCapabilities) *bool { return &c.Elicitation }).since(protocol.Rev20251125),
	optional("url", present, func(c *protocol.ClientCapabilities) *bool { return &c.ElicitURL }).since(protocol.Rev20251125),
))

// clientTasksMembers are the members of the core capability of 2025-11-25. On 2026-07-28 it does not
// count as declaring the extension (SEP-2663 "Backward Compatibility").
var clientTasksMembers = declarations(rows[protocol.ClientCapabilities](
	optional("list", present, func(c *protocol.ClientCapabilities) *bool { return &c.TaskList }),
	optional("cancel", present, func(c *protocol.ClientCapabilities) *bool { return &c.TaskCancel }),
	whole("requests", object(clientTaskRequests)),
))

var clientTaskRequests = declarations(rows[protocol.ClientCapabilities](
	optional("sampling", having("createMessage"), func(c *protocol.ClientCapabilities) *bool { return &c.TaskSampling }),
	optional("elicitation", having("create"), func(c *protocol.ClientCapabilities) *bool { return &c.TaskElicitation }),
))

var serverCapabilityMembers = declarations(rows[protocol.ServerCapabilities](
	optional("experimental", declared, func(c *protocol.ServerCapabilities) *map[string]json.RawMessage { return &c.Experimental }),
	optional("logging", present, func(c *protocol.ServerCapabilities) *bool { return &c.Logging }),
	optional("completions", present, func(c *protocol.ServerCapabilities) *bool { return &c.Completions }).since(protocol.Rev20250326),
	whole("prompts", declares(promptsMembers, func(c *protocol.ServerCapabilities) *bool { return &c.Prompts })),
	whole("resources", declares(resourcesMembers, func(c *protocol.ServerCapabilities) *bool { return &c.Resources })),
	whole("tools", declares(toolsMembers, func(c *protocol.ServerCapabilities) *bool { return &c.Tools })),
	whole("tasks", object(serverTasksMembers)).only(coreTasks).
		when(func(c *protocol.ServerCapabilities) bool { return c.Tasks }),
	whole("extensions", extensions(func(c *protocol.ServerCapabilities) (*map[string]json.RawMessage, *bool) {
		return &c.Extensions, &c.Tasks
	})),
))

var promptsMembers = rows[protocol.ServerCapabilities](
	optional("listChanged", boolean, func(c *protocol.ServerCapabilities) *bool { return &c.PromptsListChanged }),
)

var resourcesMembers = rows[protocol.ServerCapabilities](
	optional("subscribe", boolean, func(c *protocol.ServerCapabilities) *bool { return &c.ResourcesSubscribe }),
	optional("listChanged", boolean, func(c *protocol.ServerCapabilities) *bool { return &c.ResourcesChanged }),
)

var toolsMembers = rows[protocol.ServerCapabilities](
	optional("listChanged", boolean, func(c *protocol.ServerCapabilities) *bool { return &c.ToolsListChanged }),
)

var serverTasksMembers = declarations(rows[protocol.ServerCapabilities](
	optional("list", present, func(c *protocol.ServerCapabilities) *bool { return &c.TaskList }),
	optional("cancel", present, func(c *protocol.ServerCapabilities) *bool { return &c.TaskCancel }),
	whole("requests", object(serverTaskRequests)),
))

var serverTaskRequests = declarations(rows[protocol.ServerCapabilities](
	optional("tools", having("call"), func(c *protocol.ServerCapabilities) *bool { return &c.Tasks }),
))

// declares is a capability whose presence sets the flag at is, and whose members are ms.
func declares[C any](ms members[C], is func(*C) *bool) kind[C] {
	return kind[C]{
		read: func(d *Dialect, c *C, v []byte) *fail {
			*is(c) = true
			return ms.decode(d, c, v)
		},
		write: ms.append,
		none:  func(c *C) bool { return !*is(c) },
	}
}

// having is a flag whose wire form is an object with the empty object name.
func having(name string) kind[bool] {
	return kind[bool]{
		read: func(d *Dialect, to *bool, v []byte) *fail {
			inner, _ := jsontext.Member(v, name) // without it, the flag is unreadable, and so not declared
			return readPresent(d, to, inner)
		},
		write: func(_ *Dialect, dst []byte, _ *bool) ([]byte, error) {
			return append(appendKey(append(dst, '{'), name), "{}}"...), nil
		},
		none: boolean.none,
	}
}

// extensions are all extensions, including unknown ones, which stay encoded. The tasks extension
// exists only on 2026-07-28, where it is the flag of of (SEP-2663).
func extensions[C any](of func(*C) (all *map[string]json.RawMessage, tasks *bool)) kind[C] {
	return kind[C]{
		read: func(d *Dialect, c *C, v []byte) *fail {
			all, tasks := of(c)
			if f := readDeclared(d, all, v); f != nil {
				return f
			}
			if _, ok := (*all)[extensionTasks]; ok && d.TaskExtension() {
				*tasks = true
			}
			return nil
		},
		write: func(d *Dialect, dst []byte, c *C) ([]byte, error) {
			all, tasks := of(c)
			with := d.extensionsWith(*all, *tasks)
			if len(with) == 0 {
				return dst, nil
			}
			return rawObjects.write(d, dst, &with)
		},
	}
}

// extensionsWith returns the extensions to declare. The tasks extension exists only on 2026-07-28,
// where tasks adds or removes it (SEP-2663). Other extensions, such as io.modelcontextprotocol/ui,
// are also declared in initialize.
func (d *Dialect) extensionsWith(m map[string]json.RawMessage, tasks bool) map[string]json.RawMessage {
	_, has := m[extensionTasks]
	want := tasks && d.TaskExtension()
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

// declared is an object whose values are objects, which stay encoded. Decoding ignores values of
// other kinds.
var declared = kind[map[string]json.RawMessage]{
	read:  readDeclared,
	write: rawObjects.write,
	none:  func(m *map[string]json.RawMessage) bool { return len(*m) == 0 },
}

func readDeclared(d *Dialect, to *map[string]json.RawMessage, v []byte) *fail {
	f := readMap(d, to, v, func(_ *Dialect, to *json.RawMessage, v []byte) *fail {
		*to, _ = objectOf(v)
		return nil
	})
	maps.DeleteFunc(*to, func(_ string, object json.RawMessage) bool { return object == nil })
	return f
}
