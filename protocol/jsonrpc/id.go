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

// StringID is a string id.
func StringID(s string) ID { return ID{raw: string(jsontext.Quote(nil, s))} }

// ParseID reads an id; false for what is neither a string nor an integer, and
// for one of over 1,024 bytes. raw must have passed jsontext.Check.
func ParseID(raw []byte) (ID, bool) {
	if len(raw) > maxID {
		return ID{}, false
	}
	switch jsontext.KindOf(raw) {
	case jsontext.KindString:
		id := ID{raw: string(raw)}
		if bytes.IndexByte(raw, '\\') >= 0 {
			s, _ := jsontext.String(raw)
			id.key = string(jsontext.Quote(nil, s))
		}
		return id, true
	case jsontext.KindNumber:
		if !jsontext.IsInteger(raw) {
			return ID{}, false
		}
		return ID{raw: string(raw)}, true
	}
	return ID{}, false
}

// IsZero says that there is no id.
func (id ID) IsZero() bool { return id.raw == "" }

// String is the id as JSON, as it was written; "" if absent.
func (id ID) String() string { return id.raw }

// Key is equal for ids that mean the same, for use in maps.
func (id ID) Key() string {
	if id.key != "" {
		return id.key
	}
	return id.raw
}

// Append writes the id as it was read.
func (id ID) Append(dst []byte) []byte { return append(dst, id.raw...) }
