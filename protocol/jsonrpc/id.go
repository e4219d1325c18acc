package jsonrpc

import (
	"bytes"
	"strconv"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// maxID bounds an id in bytes: it is kept while the request is in flight and
// echoed in every answer.
const maxID = 1024

// ID is a request id: a JSON string or integer. The zero ID is absent.
// Comparable: 1 and "1" differ. Two spellings of one string ("a" and "\u0061")
// are different values with the same Key.
type ID struct {
	raw string // as on the wire
	key string // canonical; empty: raw is
}

// IntID is an integer id.
func IntID(n int64) ID { return ID{raw: strconv.FormatInt(n, 10)} }

// StringID is a string id. ParseID refuses one of over 1,024 bytes as JSON.
func StringID(s string) ID { return newID(jsontext.Quote(nil, s)) }

// ParseID reads an id from its JSON text, without space around it; false for
// what is neither a string nor an integer, and for one of over 1,024 bytes
// (2025-11-25 basic, "Requests"). It checks raw itself, because ids also come
// from stores and headers, and it copies it.
func ParseID(raw []byte) (ID, bool) {
	if len(raw) == 0 || len(raw) > maxID {
		return ID{}, false
	}
	switch first, last := raw[0], raw[len(raw)-1]; {
	case first == '"' && last == '"':
		if jsontext.Check(raw, jsontext.Limits{}) != nil {
			return ID{}, false
		}
	case first <= ' ' || last <= ' ' || !jsontext.IsInteger(raw):
		return ID{}, false
	}
	return newID(raw), true
}

// newID copies a valid id. The key of a string is its text unescaped between
// quotes, not quoted anew: quoting has two forms for some characters (U+2028).
func newID(raw []byte) ID {
	id := ID{raw: string(raw)}
	switch {
	case id.raw == "-0":
		id.key = "0"
	case bytes.IndexByte(raw, '\\') >= 0:
		text, _ := jsontext.AppendString([]byte{'"'}, raw)
		id.key = string(append(text, '"'))
	}
	return id
}

// IsZero says that there is no id.
func (id ID) IsZero() bool { return id.raw == "" }

// String is the id as JSON, as it was written; "" if absent.
func (id ID) String() string { return id.raw }

// Key is equal for ids that mean the same and only for them, for use in maps;
// "" if absent. It is not JSON: a string stands in it unescaped.
func (id ID) Key() string {
	if id.key != "" {
		return id.key
	}
	return id.raw
}

// Append writes the id as it was read.
func (id ID) Append(dst []byte) []byte { return append(dst, id.raw...) }
