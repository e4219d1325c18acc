package dialect

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

var textMembers = rows[protocol.Text](
	constant[protocol.Text]("type", "text"),
	required("text", str, func(b *protocol.Text) *string { return &b.Text }),
	optional("annotations", annotations, func(b *protocol.Text) **protocol.Annotations { return &b.Annotations }),
	optional("_meta", meta, func(b *protocol.Text) *protocol.Meta { return &b.Meta }).only(extended),
)

var imageMembers = rows[protocol.Image](
	constant[protocol.Image]("type", "image"),
	required("data", binary, func(b *protocol.Image) *[]byte { return &b.Data }),
	required("mimeType", str, func(b *protocol.Image) *string { return &b.MIME }),
	optional("annotations", annotations, func(b *protocol.Image) **protocol.Annotations { return &b.Annotations }),
	optional("_meta", meta, func(b *protocol.Image) *protocol.Meta { return &b.Meta }).only(extended),
)

var audioMembers = rows[protocol.Audio](
	constant[protocol.Audio]("type", "audio"),
	required("data", binary, func(b *protocol.Audio) *[]byte { return &b.Data }),
	required("mimeType", str, func(b *protocol.Audio) *string { return &b.MIME }),
	optional("annotations", annotations, func(b *protocol.Audio) **protocol.Annotations { return &b.Annotations }),
	optional("_meta", meta, func(b *protocol.Audio) *protocol.Meta { return &b.Meta }).only(extended),
)

var embeddedMembers = rows[protocol.Embedded](
	constant[protocol.Embedded]("type", "resource"),
	required("resource", contents, func(b *protocol.Embedded) *protocol.Contents { return &b.Contents }),
	optional("annotations", annotations, func(b *protocol.Embedded) **protocol.Annotations { return &b.Annotations }),
	optional("_meta", meta, func(b *protocol.Embedded) *protocol.Meta { return &b.Meta }).only(extended),
)

var linkMembers = rows[protocol.Link](
	constant[protocol.Link]("type", "resource_link"),
	required("uri", str, func(b *protocol.Link) *string { return &b.URI }),
	required("name", str, func(b *protocol.Link) *string { return &b.Name }),
	optional("title", str, func(b *protocol.Link) *string { return &b.Title }).only(titled),
	optional("description", str, func(b *protocol.Link) *string { return &b.Description }),
	optional("mimeType", str, func(b *protocol.Link) *string { return &b.MIME }),
	optional("size", integer[int64](), func(b *protocol.Link) *int64 { return &b.Size }),
	optional("annotations", annotations, func(b *protocol.Link) **protocol.Annotations { return &b.Annotations }),
	optional("icons", list(icon), func(b *protocol.Link) *[]protocol.Icon { return &b.Icons }).only(illustrated),
	optional("_meta", meta, func(b *protocol.Link) *protocol.Meta { return &b.Meta }).only(extended),
)

var toolUseMembers = rows[protocol.ToolUse](
	constant[protocol.ToolUse]("type", "tool_use"),
	required("id", str, func(b *protocol.ToolUse) *string { return &b.ID }),
	required("name", str, func(b *protocol.ToolUse) *string { return &b.Name }),
	required("input", input, func(b *protocol.ToolUse) *json.RawMessage { return &b.Input }),
	optional("_meta", meta, func(b *protocol.ToolUse) *protocol.Meta { return &b.Meta }).only(extended),
)

// input is an object that stays encoded. Encoding replaces any other value by an empty object.
var input = kind[json.RawMessage]{
	read:  rawObject.read,
	write: func(_ *Dialect, dst []byte, v *json.RawMessage) ([]byte, error) { return appendObject(dst, *v), nil },
}

// toolResult is a tool_result whose content is encoded. A table that reads and writes blocks would
// refer to itself.
type toolResult struct {
	protocol.ToolResult
	content json.RawMessage
}

var toolResultMembers = rows[toolResult](
	constant[toolResult]("type", "tool_result"),
	required("toolUseId", str, func(b *toolResult) *string { return &b.ToolUseID }),
	required("content", encoded, func(b *toolResult) *json.RawMessage { return &b.content }),
	nullable("structuredContent", structured, func(b *toolResult) *json.RawMessage { return &b.Structured }),
	optional("isError", boolean, func(b *toolResult) *bool { return &b.IsError }),
	optional("_meta", meta, func(b *toolResult) *protocol.Meta { return &b.Meta }).only(extended),
)

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

// structured is structuredContent: any value on 2026-07-28, and an object on older revisions. There,
// encoding wraps other values.
var structured = kind[json.RawMessage]{
	read: func(d *Dialect, to *json.RawMessage, v []byte) *fail {
		switch {
		case anyStructured.has(d):
			*to = v
			return nil
		case jsontext.KindOf(v) == jsontext.KindNull:
			return nil // absent, as for other members (ADR 8)
		}
		return readObject(d, to, v)
	},
	write: func(d *Dialect, dst []byte, v *json.RawMessage) ([]byte, error) {
		return d.appendStructured(dst, *v, false), nil
	},
	none: rawObject.none,
}

func (d *Dialect) appendStructured(dst, v []byte, wrap bool) []byte {
	if anyStructured.has(d) || (!wrap && jsontext.KindOf(v) == jsontext.KindObject) {
		return appendRaw(dst, v)
	}
	dst = append(dst, `{"result":`...)
	return append(appendRaw(dst, v), '}')
}

// contents is a TextResourceContents or a BlobResourceContents.
var contents = kind[protocol.Contents]{read: readContents, write: appendContents}

// anyContents records which of its members were read.
type anyContents struct {
	protocol.Contents
	text, blob bool
}

var contentsMembers = rows[anyContents](
	required("uri", str, func(c *anyContents) *string { return &c.URI }),
	optional("mimeType", str, func(c *anyContents) *string { return &c.MIME }),
	decoded("text", func(d *Dialect, c *anyContents, v []byte) *fail {
		c.text = true
		return readString(d, &c.Text, v)
	}),
	decoded("blob", func(d *Dialect, c *anyContents, v []byte) *fail {
		c.blob = true
		return readBase64(d, &c.Data, v)
	}),
	optional("_meta", meta, func(c *anyContents) *protocol.Meta { return &c.Meta }).only(extended),
)

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

// appendContents writes the members of contentsMembers by hand, because the table would copy the
// contents to the heap.
func appendContents(d *Dialect, dst []byte, c *protocol.Contents) ([]byte, error) {
	w := d.writer(dst)
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
	return w.ended()
}

// readBase64 reads base64. Some programs write it in the URL-safe alphabet, such as Python servers before
// March 2025, or without padding. An empty text is not nil.
func readBase64(_ *Dialect, to *[]byte, v []byte) *fail {
	if jsontext.KindOf(v) != jsontext.KindString {
		return refuse("must be a string")
	}
	text, _ := jsontext.AppendString(nil, v)
	data := make([]byte, base64.RawStdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(data, text)
	if err != nil {
		text = bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("-"), []byte("+")), []byte("_"), []byte("/"))
		n, err = base64.RawStdEncoding.Decode(data, bytes.TrimRight(text, "="))
	}
	if err != nil {
		return refuse("must be base64")
	}
	*to = data[:n]
	return nil
}

var annotations = pointer(object(annotationMembers))

var annotationMembers = rows[protocol.Annotations](
	optional("audience", list(role("")), func(a *protocol.Annotations) *[]protocol.Role { return &a.Audience }),
	optional("priority", pointer(annotationPriority), func(a *protocol.Annotations) **float64 { return &a.Priority }),
	optional("lastModified", hintTime, func(a *protocol.Annotations) *time.Time { return &a.LastModified }).since(protocol.Rev20250618),
)

// annotationPriority is a number from 0 to 1. Encoding also checks it.
var annotationPriority = kind[float64]{
	read: fraction.read,
	write: func(_ *Dialect, dst []byte, f *float64) ([]byte, error) {
		if !(*f >= 0 && *f <= 1) {
			return dst, fmt.Errorf("the priority of an annotation is %v: want 0 to 1", *f)
		}
		return jsontext.AppendFloat(dst, *f), nil
	},
}

// role is the role of a message, or usual if it is empty. Encoding refuses a role that no revision
// has, because clients would refuse the whole message.
func role(usual protocol.Role) kind[protocol.Role] {
	return checked("there is no role %q: want user or assistant", usual, protocol.RoleUser, protocol.RoleAssistant)
}

// hintTime is a time that is only a hint. The schema requires only a string, so decoding ignores a
// text in an unknown format.
var hintTime = kind[time.Time]{
	read:  readHintTime,
	write: func(_ *Dialect, dst []byte, t *time.Time) ([]byte, error) { return appendTime(dst, *t), nil },
	none:  func(t *time.Time) bool { return t.IsZero() },
}

func readHintTime(d *Dialect, to *time.Time, v []byte) *fail {
	var s string
	if f := readString(d, &s, v); f != nil {
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
func readTime(d *Dialect, to *time.Time, v []byte) *fail {
	var s string
	if f := readString(d, &s, v); f != nil {
		return f
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return refuse("must be an ISO 8601 date and time")
	}
	*to = t.UTC()
	return nil
}
