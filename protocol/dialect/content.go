package dialect

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// place is the position of a content block, which determines its union. The schema has ContentBlock
// for results and prompts, and SamplingMessageContentBlock for sampling.
type place uint8

const (
	inResult place = iota
	inSampling
)

func (w *writer) blocks(list []protocol.Block, at place) {
	w.open('[')
	for _, b := range list {
		w.comma()
		w.block(b, at)
	}
	w.shut(']')
}

func (w *writer) block(b protocol.Block, at place) {
	switch b := b.(type) {
	case protocol.Text:
		w.textBlock(b.Text, b.Annotations, b.Meta)
	case protocol.Image:
		w.image(b)
	case protocol.Audio:
		w.audio(b)
	case protocol.Embedded:
		w.embedded(b, at)
	case protocol.Link:
		w.link(b, at)
	case protocol.ToolUse:
		w.toolUse(b, at)
	case protocol.ToolResult:
		w.toolResult(b, at)
	case protocol.Unknown:
		w.textBlock(fmt.Sprintf("[block of type %q, %d bytes: not known here]", b.Type, len(b.Raw)), nil, nil)
	case nil:
		w.fail("a content block is nil")
	default:
		w.fail("content block %T: want a type of package protocol, not a pointer to one", b)
	}
}

// textBlock writes the members of textMembers by hand, because most results have such a block: a
// table would copy each block to the heap.
func (w *writer) textBlock(text string, a *protocol.Annotations, m protocol.Meta) {
	w.open('{')
	w.str("type", "text")
	w.str("text", text)
	if a != nil {
		w.key("annotations")
		write(w, annotationMembers, a)
	}
	w.meta(m)
	w.shut('}')
}

func (w *writer) image(b protocol.Image) {
	if b.MIME == "" {
		b.MIME = sniff(b.Data)
	}
	write(w, imageMembers, &b)
}

func (w *writer) audio(b protocol.Audio) {
	if b.MIME == "" {
		b.MIME = sniff(b.Data)
	}
	if audio.has(w.d) {
		write(w, audioMembers, &b)
		return
	}
	text := fmt.Sprintf("[audio, %s, %d bytes: not supported by protocol revision %s]", b.MIME, len(b.Data), w.d.rev)
	w.textBlock(text, b.Annotations, b.Meta)
}

// embedded writes an embedded resource. Sampling has no such block, so there a text resource
// becomes a text block and a binary one is an error.
func (w *writer) embedded(b protocol.Embedded, at place) {
	switch {
	case at == inResult:
		write(w, embeddedMembers, &b)
	case b.Contents.Data != nil:
		w.fail("an embedded resource with binary contents cannot stand in a sampling message")
	default:
		w.textBlock(b.Contents.Text, b.Annotations, b.Meta)
	}
}

func (w *writer) link(b protocol.Link, at place) {
	if !links.has(w.d) || at == inSampling {
		w.textBlock(linkText(b), b.Annotations, b.Meta)
		return
	}
	write(w, linkMembers, &b)
}

// linkText returns a text that replaces a link: its name, URI and description.
func linkText(b protocol.Link) string {
	text := b.URI
	if name := cmp.Or(b.Title, b.Name); name != "" {
		text = name + ": " + text
	}
	if b.Description != "" {
		text += " (" + b.Description + ")"
	}
	return text
}

func (w *writer) toolUse(b protocol.ToolUse, at place) {
	if at != inSampling || !w.d.SamplesWithTools() {
		w.fail("a tool_use block cannot stand here")
		return
	}
	write(w, toolUseMembers, &b)
}

func (w *writer) toolResult(b protocol.ToolResult, at place) {
	if at != inSampling || !w.d.SamplesWithTools() {
		w.fail("a tool_result block cannot stand here")
		return
	}
	content := writer{d: w.d}
	content.blocks(b.Content, inResult)
	if content.err != nil {
		w.fail("%w", content.err)
		return
	}
	write(w, toolResultMembers, &toolResult{b, content.b})
}

func readBlocks(d *Dialect, to *[]protocol.Block, v []byte, at place) *fail {
	return readList(d, to, v, func(d *Dialect, b *protocol.Block, v []byte) *fail { return readBlock(d, b, v, at) })
}

// readBlock reads the members that a block of its type has. Members of other types are ignored like
// unknown ones.
func readBlock(d *Dialect, to *protocol.Block, v []byte, at place) *fail {
	kind, f := readType(v)
	if f != nil {
		return f
	}
	switch kind {
	case "text":
		return blockOf(d, textMembers, to, v)
	case "image":
		return blockOf(d, imageMembers, to, v)
	case "audio":
		return blockOf(d, audioMembers, to, v)
	}
	switch {
	case kind == "resource" && at == inResult:
		return blockOf(d, embeddedMembers, to, v)
	case kind == "resource_link" && at == inResult:
		return blockOf(d, linkMembers, to, v)
	case kind == "tool_use" && at == inSampling:
		return blockOf(d, toolUseMembers, to, v)
	case kind == "tool_result" && at == inSampling:
		return readToolResult(d, to, v)
	case slices.Contains([]string{"resource", "resource_link", "tool_use", "tool_result"}, kind):
		return refuse("cannot stand here").in("type")
	case at == inResult: // the rest of the result is still useful
		*to = protocol.Unknown{Type: kind, Raw: bytes.Clone(v)}
		return nil
	}
	return refuse("is not a block type of the protocol").in("type")
}

// TextOf returns the texts of the blocks, a line each. Blocks that are not text are left out.
func TextOf(blocks []protocol.Block) string {
	var texts []string
	for _, b := range blocks {
		if t, ok := b.(protocol.Text); ok {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// readType reads the member that discriminates a union.
func readType(v []byte) (string, *fail) {
	if jsontext.KindOf(v) != jsontext.KindObject {
		return "", refuse("must be an object")
	}
	t, ok := jsontext.Member(v, "type")
	if !ok {
		return "", refuse("is missing").in("type")
	}
	kind, ok := jsontext.String(t)
	if !ok {
		return "", refuse("must be a string").in("type")
	}
	return kind, nil
}

func blockOf[T protocol.Block](d *Dialect, ms members[T], to *protocol.Block, v []byte) *fail {
	var b T
	if f := ms.decode(d, &b, v); f != nil {
		return f
	}
	*to = b
	return nil
}
