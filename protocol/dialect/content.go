package dialect

import (
	"fmt"

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

// AppendBlock appends one content block of a tool result or prompt message. A block that the
// revision lacks becomes a text block that says so. AppendBlock returns an error for tool_use and
// tool_result, which are allowed only in sampling messages. An empty MIME type is detected from the
// data.
func (d *Dialect) AppendBlock(dst []byte, b protocol.Block) ([]byte, error) {
	w := d.writer(dst)
	w.block(b, inResult)
	return w.done()
}

func (w *writer) blocks(name string, list []protocol.Block, at place) {
	w.key(name)
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
		w.media("image", b.Data, b.MIME, b.Annotations, b.Meta)
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
		w.fail("content block %T: %w", b, errUnknownType)
	}
}

func (w *writer) textBlock(text string, a *protocol.Annotations, m protocol.Meta) {
	w.open('{')
	w.str("type", "text")
	w.str("text", text)
	w.annotations(a)
	w.meta(m)
	w.shut('}')
}

func (w *writer) media(kind string, data []byte, mime string, a *protocol.Annotations, m protocol.Meta) {
	if mime == "" {
		mime = sniff(data)
	}
	w.open('{')
	w.str("type", kind)
	w.key("data")
	w.b = jsontext.QuoteBase64(w.b, data)
	w.str("mimeType", mime)
	w.annotations(a)
	w.meta(m)
	w.shut('}')
}

func (w *writer) audio(b protocol.Audio) {
	if w.d.audio {
		w.media("audio", b.Data, b.MIME, b.Annotations, b.Meta)
		return
	}
	mime := b.MIME
	if mime == "" {
		mime = sniff(b.Data)
	}
	text := fmt.Sprintf("[audio, %s, %d bytes: not supported by protocol revision %s]", mime, len(b.Data), w.d.rev)
	w.textBlock(text, b.Annotations, b.Meta)
}

// embedded writes an embedded resource. Sampling has no such block, so there a text resource
// becomes a text block and a binary one is an error.
func (w *writer) embedded(b protocol.Embedded, at place) {
	if at == inSampling {
		if b.Contents.Data != nil {
			w.fail("an embedded resource with binary contents cannot stand in a sampling message")
			return
		}
		w.textBlock(b.Contents.Text, b.Annotations, b.Meta)
		return
	}
	w.open('{')
	w.str("type", "resource")
	w.key("resource")
	w.contents(&b.Contents)
	w.annotations(b.Annotations)
	w.meta(b.Meta)
	w.shut('}')
}

func (w *writer) link(b protocol.Link, at place) {
	if !w.d.links || at == inSampling {
		w.textBlock(linkText(b), b.Annotations, b.Meta)
		return
	}
	w.open('{')
	w.str("type", "resource_link")
	w.str("uri", b.URI)
	w.str("name", b.Name)
	w.title(b.Title)
	w.text("description", b.Description)
	w.text("mimeType", b.MIME)
	w.count("size", b.Size)
	w.annotations(b.Annotations)
	w.icons(b.Icons)
	w.meta(b.Meta)
	w.shut('}')
}

// linkText returns a text that replaces a link: its name, URI and description.
func linkText(b protocol.Link) string {
	name := b.Title
	if name == "" {
		name = b.Name
	}
	text := b.URI
	if name != "" {
		text = name + ": " + text
	}
	if b.Description != "" {
		text += " (" + b.Description + ")"
	}
	return text
}

func (w *writer) toolUse(b protocol.ToolUse, at place) {
	if at != inSampling || !w.d.samplesWithTools {
		w.fail("a tool_use block cannot stand here")
		return
	}
	w.open('{')
	w.str("type", "tool_use")
	w.str("id", b.ID)
	w.str("name", b.Name)
	w.key("input")
	w.object(b.Input)
	w.meta(b.Meta)
	w.shut('}')
}

func (w *writer) toolResult(b protocol.ToolResult, at place) {
	if at != inSampling || !w.d.samplesWithTools {
		w.fail("a tool_result block cannot stand here")
		return
	}
	w.open('{')
	w.str("type", "tool_result")
	w.str("toolUseId", b.ToolUseID)
	w.blocks("content", b.Content, inResult)
	w.structured(b.Structured, false)
	w.flag("isError", b.IsError)
	w.meta(b.Meta)
	w.shut('}')
}

// structured writes structuredContent. On 2026-07-28 it may be any value. On 2025-06-18 and
// 2025-11-25 it must be an object, so other values are wrapped. Older revisions do not have the
// member.
func (w *writer) structured(v []byte, wrap bool) {
	if len(v) == 0 || !w.d.structuredContent {
		return
	}
	w.key("structuredContent")
	if w.d.anyStructured || (!wrap && jsontext.KindOf(v) == jsontext.KindObject) {
		w.raw(v)
		return
	}
	w.open('{')
	w.key("result")
	w.raw(v)
	w.shut('}')
}

// contents writes TextResourceContents or BlobResourceContents.
func (w *writer) contents(c *protocol.Contents) {
	mime := c.MIME
	if mime == "" {
		mime = "text/plain"
		if c.Data != nil {
			mime = sniff(c.Data)
		}
	}
	w.open('{')
	w.str("uri", c.URI)
	w.str("mimeType", mime)
	if c.Data != nil {
		w.key("blob")
		w.b = jsontext.QuoteBase64(w.b, c.Data)
	} else {
		w.str("text", c.Text)
	}
	w.meta(c.Meta)
	w.shut('}')
}

func (w *writer) annotations(a *protocol.Annotations) {
	if a == nil {
		return
	}
	w.key("annotations")
	w.open('{')
	if len(a.Audience) > 0 {
		w.key("audience")
		w.open('[')
		for _, r := range a.Audience {
			w.comma()
			w.known(r)
			w.b = jsontext.Quote(w.b, string(r))
		}
		w.shut(']')
	}
	if p := a.Priority; p != nil && !(*p >= 0 && *p <= 1) {
		w.fail("the priority of an annotation is %v: want 0 to 1", *p)
	}
	w.floatPtr("priority", a.Priority)
	if w.d.lastModified {
		w.when("lastModified", a.LastModified)
	}
	w.shut('}')
}

func (w *writer) icons(list []protocol.Icon) {
	if len(list) == 0 || !w.d.icons {
		return
	}
	w.key("icons")
	w.open('[')
	for i := range list {
		w.comma()
		w.open('{')
		w.str("src", list[i].Src)
		w.text("mimeType", list[i].MIMEType)
		w.someTexts("sizes", list[i].Sizes)
		if theme := list[i].Theme; theme != "" && theme != "light" && theme != "dark" {
			w.fail("an icon has the theme %q: want light or dark", theme)
		}
		w.text("theme", list[i].Theme)
		w.shut('}')
	}
	w.shut(']')
}
