package dialect

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

var createMessageMembers = rows[protocol.CreateMessageParams](
	required("messages", list(object(samplingMessageMembers)), func(p *protocol.CreateMessageParams) *[]protocol.Message { return &p.Messages }),
	optional("modelPreferences", pointer(object(preferenceMembers)), func(p *protocol.CreateMessageParams) **protocol.ModelPreferences { return &p.Preferences }),
	optional("systemPrompt", str, func(p *protocol.CreateMessageParams) *string { return &p.System }),
	optional("includeContext", enum("none", "thisServer", "allServers"), func(p *protocol.CreateMessageParams) *string { return &p.IncludeContext }),
	optional("temperature", pointer(number), func(p *protocol.CreateMessageParams) **float64 { return &p.Temperature }),
	required("maxTokens", integer[int](), func(p *protocol.CreateMessageParams) *int { return &p.MaxTokens }),
	optional("stopSequences", list(str), func(p *protocol.CreateMessageParams) *[]string { return &p.StopSequences }),
	optional("metadata", rawObject, func(p *protocol.CreateMessageParams) *json.RawMessage { return &p.Metadata }),
	optional("tools", list(object(toolMembers)), func(p *protocol.CreateMessageParams) *[]protocol.Tool { return &p.Tools }).
		since(protocol.Rev20251125).when(func(p *protocol.CreateMessageParams) bool { return p.Tools != nil }),
	whole("toolChoice", filled(toolChoiceMembers)).since(protocol.Rev20251125),
	optional("task", taskRequest, func(p *protocol.CreateMessageParams) **protocol.TaskRequest { return &p.Task }).only(coreTasks),
)

// appendCreateMessage fails if the revision lacks the tools. A client of an older revision would
// ignore them, and a loop that waits for their use would never end.
func appendCreateMessage(d *Dialect, dst []byte, p *protocol.CreateMessageParams) ([]byte, error) {
	if len(p.Tools) > 0 && !d.SamplesWithTools() {
		return dst, errors.New("sampling with tools does not exist")
	}
	return createMessageMembers.appendInto(d, dst, p)
}

var preferenceMembers = rows[protocol.ModelPreferences](
	optional("hints", list(object(hintMembers)), func(p *protocol.ModelPreferences) *[]string { return &p.Hints }),
	optional("costPriority", pointer(fraction), func(p *protocol.ModelPreferences) **float64 { return &p.Cost }),
	optional("speedPriority", pointer(fraction), func(p *protocol.ModelPreferences) **float64 { return &p.Speed }),
	optional("intelligencePriority", pointer(fraction), func(p *protocol.ModelPreferences) **float64 { return &p.Intelligence }),
)

var hintMembers = rows[string](whole("name", str))

var toolChoiceMembers = rows[protocol.CreateMessageParams](
	optional("mode", enum("auto", "required", "none"), func(p *protocol.CreateMessageParams) *string { return &p.ToolChoice }),
)

var samplingMessageMembers = rows[protocol.Message](
	required("role", role(protocol.RoleUser), func(m *protocol.Message) *protocol.Role { return &m.Role }),
	whole("content", messageContent).requiredIn(always),
	optional("_meta", meta, func(m *protocol.Message) *protocol.Meta { return &m.Meta }).since(protocol.Rev20251125),
)

// messageContent is the blocks of a sampling message.
var messageContent = kind[protocol.Message]{
	read: func(d *Dialect, m *protocol.Message, v []byte) *fail {
		var blocks []protocol.Block
		if f := samplingContent.read(d, &blocks, v); f != nil || len(blocks) == 0 {
			return f
		}
		m.Content = blocks[0]
		if len(blocks) > 1 {
			m.More = blocks[1:]
		}
		return nil
	},
	write: func(d *Dialect, dst []byte, m *protocol.Message) ([]byte, error) {
		blocks := m.Blocks()
		return samplingContent.write(d, dst, &blocks)
	},
}

// samplingContent is one block or, from 2025-11-25 on, an array of blocks. Encoding writes an array
// only if there is not exactly one block.
var samplingContent = kind[[]protocol.Block]{
	read: func(d *Dialect, to *[]protocol.Block, v []byte) *fail {
		if d.SamplesWithTools() && jsontext.KindOf(v) == jsontext.KindArray {
			return readBlocks(d, to, v, inSampling)
		}
		*to = make([]protocol.Block, 1)
		return readBlock(d, &(*to)[0], v, inSampling)
	},
	write: func(d *Dialect, dst []byte, blocks *[]protocol.Block) ([]byte, error) {
		w := d.writer(dst)
		switch {
		case len(*blocks) == 1:
			w.block((*blocks)[0], inSampling)
		case d.SamplesWithTools():
			w.blocks(*blocks, inSampling)
		default:
			return dst, fmt.Errorf("a sampling message has exactly one content block, not %d", len(*blocks))
		}
		return w.ended()
	},
}
