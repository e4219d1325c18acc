package dialect

import (
	"encoding/base64"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// anyBlock holds the members of all kinds of blocks; which of them a block
// needs depends on its type.
type anyBlock struct {
	kind, text, mime, uri, name, title, description, id, toolUseID string

	data, input, structured []byte
	contents                *protocol.Contents
	content                 []protocol.Block
	annotations             *protocol.Annotations
	icons                   []protocol.Icon
	size                    int64
	isError                 bool
	meta                    protocol.Meta
}

// blockMembers are the members of all blocks but tool_result's content, whose
// type is a list of blocks again.
var blockMembers = fields[anyBlock]{
	{"type", required, func(_ *Dialect, b *anyBlock, v []byte) *fail { return readString(&b.kind, v) }},
	{"text", optional, func(_ *Dialect, b *anyBlock, v []byte) *fail { return readString(&b.text, v) }},
	{"data", optional, func(_ *Dialect, b *anyBlock, v []byte) *fail { return readBase64(&b.data, v) }},
	{"mimeType", optional, func(_ *Dialect, b *anyBlock, v []byte) *fail { return readString(&b.mime, v) }},
	{"resource", optional, func(d *Dialect, b *anyBlock, v []byte) *fail {
		b.contents = new(protocol.Contents)
		return readContents(d, b.contents, v)
	}},
	{"uri", optional, func(_ *Dialect, b *anyBlock, v []byte) *fail { return readString(&b.uri, v) }},
	{"name", optional, func(_ *Dialect, b *anyBlock, v []byte) *fail { return readString(&b.name, v) }},
	{"title", optional, func(_ *Dialect, b *anyBlock, v []byte) *fail { return readString(&b.title, v) }},
	{"description", optional, func(_ *Dialect, b *anyBlock, v []byte) *fail { return readString(&b.description, v) }},
	{"size", optional, func(_ *Dialect, b *anyBlock, v []byte) *fail { return readInt(&b.size, v) }},
	{"icons", optional, func(d *Dialect, b *anyBlock, v []byte) *fail { return readIcons(d, &b.icons, v) }},
	{"id", optional, func(_ *Dialect, b *anyBlock, v []byte) *fail { return readString(&b.id, v) }},
	{"input", optional, func(_ *Dialect, b *anyBlock, v []byte) *fail { return readObject(&b.input, v) }},
	{"toolUseId", optional, func(_ *Dialect, b *anyBlock, v []byte) *fail { return readString(&b.toolUseID, v) }},
	{"structuredContent", optional, func(d *Dialect, b *anyBlock, v []byte) *fail { return readStructured(d, &b.structured, v) }},
	{"isError", optional, func(_ *Dialect, b *anyBlock, v []byte) *fail { return readBool(&b.isError, v) }},
	{"annotations", optional, func(d *Dialect, b *anyBlock, v []byte) *fail { return readAnnotations(d, &b.annotations, v) }},
	{"_meta", optional, func(_ *Dialect, b *anyBlock, v []byte) *fail { return readMeta(&b.meta, v) }},
}

// blockNeeds are the members without which a block of a type is none.
var blockNeeds = map[string][]string{
	"text":          {"text"},
	"image":         {"data", "mimeType"},
	"audio":         {"data", "mimeType"},
	"resource":      {"resource"},
	"resource_link": {"uri", "name"},
	"tool_use":      {"id", "name", "input"},
	"tool_result":   {"toolUseId", "content"},
}

func readBlocks(d *Dialect, to *[]protocol.Block, v []byte, at place) *fail {
	return readList(to, v, func(b *protocol.Block, v []byte) *fail { return readBlock(d, b, v, at) })
}

func readBlock(d *Dialect, to *protocol.Block, v []byte, at place) *fail {
	var b anyBlock
	if f := blockMembers.decode(d, &b, v); f != nil {
		return f
	}
	needs, known := blockNeeds[b.kind]
	if !known {
		return refuse("is no block type that this protocol has").in("type")
	}
	for _, name := range needs {
		if _, ok := jsontext.Member(v, name); !ok {
			return refuse("is missing").in(name)
		}
	}
	if b.kind == "tool_result" {
		content, _ := jsontext.Member(v, "content")
		if f := readBlocks(d, &b.content, content, inResult); f != nil {
			return f.in("content")
		}
	}
	made := b.build(at)
	if made == nil {
		return refuse("cannot stand here").in("type")
	}
	*to = made
	return nil
}

// build is the block that the members make, nil where it may not stand.
func (b *anyBlock) build(at place) protocol.Block {
	switch {
	case b.kind == "text":
		return protocol.Text{Text: b.text, Annotations: b.annotations, Meta: b.meta}
	case b.kind == "image":
		return protocol.Image{Data: b.data, MIME: b.mime, Annotations: b.annotations, Meta: b.meta}
	case b.kind == "audio":
		return protocol.Audio{Data: b.data, MIME: b.mime, Annotations: b.annotations, Meta: b.meta}
	case b.kind == "resource" && at == inResult:
		return protocol.Embedded{Contents: *b.contents, Annotations: b.annotations, Meta: b.meta}
	case b.kind == "resource_link" && at == inResult:
		return protocol.Link{
			URI: b.uri, Name: b.name, Title: b.title, Description: b.description, MIME: b.mime,
			Size: b.size, Icons: b.icons, Annotations: b.annotations, Meta: b.meta,
		}
	case b.kind == "tool_use" && at == inSampling:
		return protocol.ToolUse{ID: b.id, Name: b.name, Input: b.input, Meta: b.meta}
	case b.kind == "tool_result" && at == inSampling:
		return protocol.ToolResult{
			ToolUseID: b.toolUseID, Content: b.content, Structured: b.structured, IsError: b.isError, Meta: b.meta,
		}
	}
	return nil
}

// readStructured takes any value where the revision allows it, else an object.
func readStructured[B ~[]byte](d *Dialect, to *B, v []byte) *fail {
	if d.anyStructured {
		*to = B(v)
		return nil
	}
	return readObject(to, v)
}

// anyContents is a TextResourceContents or a BlobResourceContents.
type anyContents struct {
	protocol.Contents
	text, blob bool
}

var contentsMembers = fields[anyContents]{
	{"uri", required, func(_ *Dialect, c *anyContents, v []byte) *fail { return readString(&c.URI, v) }},
	{"mimeType", optional, func(_ *Dialect, c *anyContents, v []byte) *fail { return readString(&c.MIME, v) }},
	{"text", optional, func(_ *Dialect, c *anyContents, v []byte) *fail {
		c.text = true
		return readString(&c.Text, v)
	}},
	{"blob", optional, func(_ *Dialect, c *anyContents, v []byte) *fail {
		c.blob = true
		return readBase64(&c.Data, v)
	}},
	{"_meta", optional, func(_ *Dialect, c *anyContents, v []byte) *fail { return readMeta(&c.Meta, v) }},
}

func readContents(d *Dialect, to *protocol.Contents, v []byte) *fail {
	var c anyContents
	if f := contentsMembers.decode(d, &c, v); f != nil {
		return f
	}
	if c.text == c.blob {
		return refuse("must have text or blob")
	}
	*to = c.Contents
	return nil
}

// readBase64 reads the standard alphabet with padding; an empty one is not nil.
func readBase64(to *[]byte, v []byte) *fail {
	if jsontext.KindOf(v) != jsontext.KindString {
		return refuse("must be a string")
	}
	text, _ := jsontext.AppendString(nil, v)
	data := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(data, text)
	if err != nil {
		return refuse("must be base64 (standard alphabet, padded)")
	}
	*to = data[:n]
	return nil
}

var annotationMembers = fields[protocol.Annotations]{
	{"audience", optional, func(_ *Dialect, a *protocol.Annotations, v []byte) *fail {
		return readList(&a.Audience, v, readRole)
	}},
	{"priority", optional, func(_ *Dialect, a *protocol.Annotations, v []byte) *fail { return readPriority(&a.Priority, v) }},
	{"lastModified", optional, func(_ *Dialect, a *protocol.Annotations, v []byte) *fail {
		return readHintTime(&a.LastModified, v)
	}},
}

func readAnnotations(d *Dialect, to **protocol.Annotations, v []byte) *fail {
	*to = new(protocol.Annotations)
	return annotationMembers.decode(d, *to, v)
}

func readRole(to *protocol.Role, v []byte) *fail {
	return readEnum(to, v, protocol.RoleUser, protocol.RoleAssistant)
}

// readHintTime reads a time that is only a hint: the schema calls it a string,
// so an unknown form is no fault, it only says nothing.
func readHintTime(to *time.Time, v []byte) *fail {
	var s string
	if f := readString(&s, v); f != nil {
		return f
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			*to = t.UTC()
			return nil
		}
	}
	return nil
}

// readTime reads an ISO 8601 date and time.
func readTime(to *time.Time, v []byte) *fail {
	var s string
	if f := readString(&s, v); f != nil {
		return f
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return refuse("must be an ISO 8601 date and time")
	}
	*to = t.UTC()
	return nil
}

var iconMembers = fields[protocol.Icon]{
	{"src", required, func(_ *Dialect, i *protocol.Icon, v []byte) *fail { return readString(&i.Src, v) }},
	{"mimeType", optional, func(_ *Dialect, i *protocol.Icon, v []byte) *fail { return readString(&i.MIMEType, v) }},
	{"sizes", optional, func(_ *Dialect, i *protocol.Icon, v []byte) *fail { return readList(&i.Sizes, v, readString) }},
	{"theme", optional, func(_ *Dialect, i *protocol.Icon, v []byte) *fail { return readEnum(&i.Theme, v, "light", "dark") }},
}

func readIcons(d *Dialect, to *[]protocol.Icon, v []byte) *fail {
	return readList(to, v, func(i *protocol.Icon, v []byte) *fail { return iconMembers.decode(d, i, v) })
}
