package dialect

import (
	"bytes"
	"slices"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

func readBlocks(d *Dialect, to *[]protocol.Block, v []byte, at place) *fail {
	return readList(to, v, func(b *protocol.Block, v []byte) *fail { return readBlock(d, b, v, at) })
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
	return refuse("is no block type that this protocol has").in("type")
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

func blockOf[T protocol.Block](d *Dialect, members fields[T], to *protocol.Block, v []byte) *fail {
	var b T
	if f := members.decode(d, &b, v); f != nil {
		return f
	}
	*to = b
	return nil
}

// typed is the field for the member that readType has read. It is needed to detect a repeated one.
func typed[T any]() field[T] {
	return field[T]{"type", required, func(*Dialect, *T, []byte) *fail { return nil }}
}

var textMembers = fields[protocol.Text]{
	typed[protocol.Text](),
	{"text", required, func(_ *Dialect, b *protocol.Text, v []byte) *fail { return readString(&b.Text, v) }},
	{"annotations", optional, func(d *Dialect, b *protocol.Text, v []byte) *fail { return readAnnotations(d, &b.Annotations, v) }},
	{"_meta", optional, since(hasMetas, func(_ *Dialect, b *protocol.Text, v []byte) *fail { return readMeta(&b.Meta, v) })},
}

var imageMembers = fields[protocol.Image]{
	typed[protocol.Image](),
	{"data", required, func(_ *Dialect, b *protocol.Image, v []byte) *fail { return readBase64(&b.Data, v) }},
	{"mimeType", required, func(_ *Dialect, b *protocol.Image, v []byte) *fail { return readString(&b.MIME, v) }},
	{"annotations", optional, func(d *Dialect, b *protocol.Image, v []byte) *fail { return readAnnotations(d, &b.Annotations, v) }},
	{"_meta", optional, since(hasMetas, func(_ *Dialect, b *protocol.Image, v []byte) *fail { return readMeta(&b.Meta, v) })},
}

var audioMembers = fields[protocol.Audio]{
	typed[protocol.Audio](),
	{"data", required, func(_ *Dialect, b *protocol.Audio, v []byte) *fail { return readBase64(&b.Data, v) }},
	{"mimeType", required, func(_ *Dialect, b *protocol.Audio, v []byte) *fail { return readString(&b.MIME, v) }},
	{"annotations", optional, func(d *Dialect, b *protocol.Audio, v []byte) *fail { return readAnnotations(d, &b.Annotations, v) }},
	{"_meta", optional, since(hasMetas, func(_ *Dialect, b *protocol.Audio, v []byte) *fail { return readMeta(&b.Meta, v) })},
}

var embeddedMembers = fields[protocol.Embedded]{
	typed[protocol.Embedded](),
	{"resource", required, func(d *Dialect, b *protocol.Embedded, v []byte) *fail { return readContents(d, &b.Contents, v) }},
	{"annotations", optional, func(d *Dialect, b *protocol.Embedded, v []byte) *fail {
		return readAnnotations(d, &b.Annotations, v)
	}},
	{"_meta", optional, since(hasMetas, func(_ *Dialect, b *protocol.Embedded, v []byte) *fail { return readMeta(&b.Meta, v) })},
}

var linkMembers = fields[protocol.Link]{
	typed[protocol.Link](),
	{"uri", required, func(_ *Dialect, b *protocol.Link, v []byte) *fail { return readString(&b.URI, v) }},
	{"name", required, func(_ *Dialect, b *protocol.Link, v []byte) *fail { return readString(&b.Name, v) }},
	{"title", optional, since(hasTitles, func(_ *Dialect, b *protocol.Link, v []byte) *fail { return readString(&b.Title, v) })},
	{"description", optional, func(_ *Dialect, b *protocol.Link, v []byte) *fail { return readString(&b.Description, v) }},
	{"mimeType", optional, func(_ *Dialect, b *protocol.Link, v []byte) *fail { return readString(&b.MIME, v) }},
	{"size", optional, func(_ *Dialect, b *protocol.Link, v []byte) *fail { return readInt(&b.Size, v) }},
	{"icons", optional, since(hasIcons, func(d *Dialect, b *protocol.Link, v []byte) *fail { return readIcons(d, &b.Icons, v) })},
	{"annotations", optional, func(d *Dialect, b *protocol.Link, v []byte) *fail { return readAnnotations(d, &b.Annotations, v) }},
	{"_meta", optional, since(hasMetas, func(_ *Dialect, b *protocol.Link, v []byte) *fail { return readMeta(&b.Meta, v) })},
}

var toolUseMembers = fields[protocol.ToolUse]{
	typed[protocol.ToolUse](),
	{"id", required, func(_ *Dialect, b *protocol.ToolUse, v []byte) *fail { return readString(&b.ID, v) }},
	{"name", required, func(_ *Dialect, b *protocol.ToolUse, v []byte) *fail { return readString(&b.Name, v) }},
	{"input", required, func(_ *Dialect, b *protocol.ToolUse, v []byte) *fail { return readObject(&b.Input, v) }},
	{"_meta", optional, since(hasMetas, func(_ *Dialect, b *protocol.ToolUse, v []byte) *fail { return readMeta(&b.Meta, v) })},
}

// toolResult is a tool_result whose content is still raw. A table that reads blocks would refer to
// itself.
type toolResult struct {
	protocol.ToolResult
	content []byte
}

var toolResultMembers = fields[toolResult]{
	typed[toolResult](),
	{"toolUseId", required, func(_ *Dialect, b *toolResult, v []byte) *fail { return readString(&b.ToolUseID, v) }},
	{"content", required, func(_ *Dialect, b *toolResult, v []byte) *fail {
		b.content = v
		return nil
	}},
	{"structuredContent", nullable, func(d *Dialect, b *toolResult, v []byte) *fail { return readStructured(d, &b.Structured, v) }},
	{"isError", optional, func(_ *Dialect, b *toolResult, v []byte) *fail { return readBool(&b.IsError, v) }},
	{"_meta", optional, since(hasMetas, func(_ *Dialect, b *toolResult, v []byte) *fail { return readMeta(&b.Meta, v) })},
}

func readToolResult(d *Dialect, to *protocol.Block, v []byte) *fail {
	var b toolResult
	if f := toolResultMembers.decode(d, &b, v); f != nil {
		return f
	}
	if f := readBlocks(d, &b.Content, b.content, inResult); f != nil {
		return f.in("content")
	}
	*to = b.ToolResult
	return nil
}

// readStructured reads any value if the revision allows it, and otherwise an object.
func readStructured[B ~[]byte](d *Dialect, to *B, v []byte) *fail {
	if d.anyStructured {
		*to = B(v)
		return nil
	}
	return readObject(to, v)
}
