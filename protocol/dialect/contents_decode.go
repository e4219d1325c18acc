package dialect

import (
	"encoding/base64"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

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
	{"_meta", optional, since(hasMetas, func(_ *Dialect, c *anyContents, v []byte) *fail { return readMeta(&c.Meta, v) })},
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

// readBase64 reads base64 in the standard alphabet with padding. An empty text is not nil.
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
	{"lastModified", optional, since(hasLastModified, func(_ *Dialect, a *protocol.Annotations, v []byte) *fail {
		return readHintTime(&a.LastModified, v)
	})},
}

func readAnnotations(d *Dialect, to **protocol.Annotations, v []byte) *fail {
	*to = new(protocol.Annotations)
	return annotationMembers.decode(d, *to, v)
}

func readRole(to *protocol.Role, v []byte) *fail {
	return readEnum(to, v, protocol.RoleUser, protocol.RoleAssistant)
}

// readHintTime reads a time that is only a hint. The schema requires only a string, so a text in an
// unknown format is ignored.
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
