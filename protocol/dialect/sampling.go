package dialect

import (
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// createMessage writes the params of sampling/createMessage except _meta.
func (w *writer) createMessage(p *protocol.CreateMessageParams) {
	w.key("messages")
	w.open('[')
	for i := range p.Messages {
		w.comma()
		w.samplingMessage(&p.Messages[i])
	}
	w.shut(']')
	w.preferences(p.Preferences)
	w.text("systemPrompt", p.System)
	w.text("includeContext", p.IncludeContext)
	w.floatPtr("temperature", p.Temperature)
	w.integer("maxTokens", int64(p.MaxTokens))
	w.someTexts("stopSequences", p.StopSequences)
	w.objectMember("metadata", p.Metadata)
	w.samplingTools(p)
	w.task(p.Task)
}

// samplingTools writes the tools, or fails if the revision lacks them. A client of an older
// revision would ignore the tools, and a loop that waits for their use would never end.
func (w *writer) samplingTools(p *protocol.CreateMessageParams) {
	if !w.d.samplesWithTools {
		if len(p.Tools) > 0 {
			w.fail("sampling with tools does not exist")
		}
		return
	}
	if p.Tools != nil {
		w.key("tools")
		w.open('[')
		for i := range p.Tools {
			w.comma()
			w.tool(&p.Tools[i])
		}
		w.shut(']')
	}
	if p.ToolChoice != "" {
		w.key("toolChoice")
		w.open('{')
		w.str("mode", p.ToolChoice)
		w.shut('}')
	}
}

func (w *writer) preferences(p *protocol.ModelPreferences) {
	if p == nil {
		return
	}
	w.key("modelPreferences")
	w.open('{')
	if len(p.Hints) > 0 {
		w.key("hints")
		w.open('[')
		for _, h := range p.Hints {
			w.comma()
			w.open('{')
			w.text("name", h)
			w.shut('}')
		}
		w.shut(']')
	}
	w.floatPtr("costPriority", p.Cost)
	w.floatPtr("speedPriority", p.Speed)
	w.floatPtr("intelligencePriority", p.Intelligence)
	w.shut('}')
}

func (w *writer) samplingMessage(m *protocol.Message) {
	w.open('{')
	w.role(m.Role, protocol.RoleUser)
	w.samplingContent(m.Blocks())
	if w.d.samplesWithTools {
		w.meta(m.Meta)
	}
	w.shut('}')
}

// role writes the member role: r, or usual if r is empty.
func (w *writer) role(r, usual protocol.Role) {
	if r == "" {
		r = usual
	}
	w.known(r)
	w.str("role", string(r))
}

// known fails if no revision has the role, because clients would refuse the whole message.
func (w *writer) known(r protocol.Role) {
	if r != protocol.RoleUser && r != protocol.RoleAssistant {
		w.fail("there is no role %q: want user or assistant", r)
	}
}

// samplingContent writes one block as an object, and several as an array (2025-11-25 on).
func (w *writer) samplingContent(list []protocol.Block) {
	switch {
	case len(list) == 1:
		w.key("content")
		w.block(list[0], inSampling)
	case w.d.samplesWithTools:
		w.blocks("content", list, inSampling)
	default:
		w.fail("a sampling message has exactly one content block, not %d", len(list))
	}
}

// readSamplingContent reads one block or, from 2025-11-25 on, an array of them.
func readSamplingContent(d *Dialect, to *[]protocol.Block, v []byte) *fail {
	if d.samplesWithTools && jsontext.KindOf(v) == jsontext.KindArray {
		return readBlocks(d, to, v, inSampling)
	}
	*to = make([]protocol.Block, 1)
	return readBlock(d, &(*to)[0], v, inSampling)
}

var samplingMessageMembers = fields[protocol.Message]{
	{"role", required, func(_ *Dialect, m *protocol.Message, v []byte) *fail { return readRole(&m.Role, v) }},
	{"content", required, func(d *Dialect, m *protocol.Message, v []byte) *fail {
		var list []protocol.Block
		if f := readSamplingContent(d, &list, v); f != nil || len(list) == 0 {
			return f
		}
		m.Content = list[0]
		if len(list) > 1 {
			m.More = list[1:]
		}
		return nil
	}},
	{"_meta", optional, since((*Dialect).SamplesWithTools, func(_ *Dialect, m *protocol.Message, v []byte) *fail { return readMeta(&m.Meta, v) })},
}

var preferenceMembers = fields[protocol.ModelPreferences]{
	{"hints", optional, func(d *Dialect, p *protocol.ModelPreferences, v []byte) *fail {
		return readList(&p.Hints, v, func(h *string, v []byte) *fail { return hintMembers.decode(d, h, v) })
	}},
	{"costPriority", optional, func(_ *Dialect, p *protocol.ModelPreferences, v []byte) *fail {
		return readPriority(&p.Cost, v)
	}},
	{"speedPriority", optional, func(_ *Dialect, p *protocol.ModelPreferences, v []byte) *fail {
		return readPriority(&p.Speed, v)
	}},
	{"intelligencePriority", optional, func(_ *Dialect, p *protocol.ModelPreferences, v []byte) *fail {
		return readPriority(&p.Intelligence, v)
	}},
}

var hintMembers = fields[string]{
	{"name", optional, func(_ *Dialect, h *string, v []byte) *fail { return readString(h, v) }},
}

var toolChoiceMembers = fields[protocol.CreateMessageParams]{
	{"mode", optional, func(_ *Dialect, p *protocol.CreateMessageParams, v []byte) *fail {
		return readEnum(&p.ToolChoice, v, "auto", "required", "none")
	}},
}

var createMessageMembers = fields[protocol.CreateMessageParams]{
	{"messages", required, func(d *Dialect, p *protocol.CreateMessageParams, v []byte) *fail {
		return readList(&p.Messages, v, func(m *protocol.Message, v []byte) *fail {
			return samplingMessageMembers.decode(d, m, v)
		})
	}},
	{"modelPreferences", optional, func(d *Dialect, p *protocol.CreateMessageParams, v []byte) *fail {
		p.Preferences = new(protocol.ModelPreferences)
		return preferenceMembers.decode(d, p.Preferences, v)
	}},
	{"systemPrompt", optional, func(_ *Dialect, p *protocol.CreateMessageParams, v []byte) *fail {
		return readString(&p.System, v)
	}},
	{"includeContext", optional, func(_ *Dialect, p *protocol.CreateMessageParams, v []byte) *fail {
		return readEnum(&p.IncludeContext, v, "none", "thisServer", "allServers")
	}},
	{"temperature", optional, func(_ *Dialect, p *protocol.CreateMessageParams, v []byte) *fail {
		return readFloatPtr(&p.Temperature, v)
	}},
	{"maxTokens", required, func(_ *Dialect, p *protocol.CreateMessageParams, v []byte) *fail {
		return readInt(&p.MaxTokens, v)
	}},
	{"stopSequences", optional, func(_ *Dialect, p *protocol.CreateMessageParams, v []byte) *fail {
		return readList(&p.StopSequences, v, readString)
	}},
	{"metadata", optional, func(_ *Dialect, p *protocol.CreateMessageParams, v []byte) *fail {
		return readObject(&p.Metadata, v)
	}},
	{"tools", optional, since((*Dialect).SamplesWithTools, func(d *Dialect, p *protocol.CreateMessageParams, v []byte) *fail {
		return readList(&p.Tools, v, func(t *protocol.Tool, v []byte) *fail { return readTool(d, t, v) })
	})},
	{"toolChoice", optional, since((*Dialect).SamplesWithTools, func(d *Dialect, p *protocol.CreateMessageParams, v []byte) *fail {
		return toolChoiceMembers.decode(d, p, v)
	})},
	{"task", optional, func(d *Dialect, p *protocol.CreateMessageParams, v []byte) *fail {
		return readTaskRequest(d, &p.Task, v)
	}},
}
