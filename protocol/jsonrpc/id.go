package jsonrpc

import (
	"strconv"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// maxID bounds an id in bytes: it is kept while the request is in flight and
// echoed in every answer.
const maxID = 1024

// ID is a request id: a JSON string or integer. The zero ID is absent.
// Comparable: 1 and "1" differ. Two spellings of one string ("a" and "\u0061")
// are different values with the same Key.
type ID struct {
	raw string // as on the wire, or inN; empty: it is absent
	n   int64
}

// inN stands in raw for the text of n, which needs no memory: most ids are such. It is
// not JSON, so no other id is written like that.
const inN = "n"

// IntID is an integer id.
func IntID(n int64) ID { return ID{raw: inN, n: n} }

// StringID is a string id. ParseID refuses one of over 1,024 bytes as JSON.
func StringID(s string) ID { return ID{raw: string(jsontext.Quote(nil, s))} }

// ParseID reads an id from its JSON text, without space around it; false for
// what is neither a string nor an integer, and for one of over 1,024 bytes
// (2025-11-25 basic, "Requests"). It checks raw itself, because ids also come
// from stores and headers, and it copies it.
func ParseID(raw []byte) (ID, bool) {
	if len(raw) == 0 || len(raw) > maxID {
		return ID{}, false
	}
	if n, ok := plainInt(raw); ok {
		return IntID(n), true
	}
	switch first, last := raw[0], raw[len(raw)-1]; {
	case first == '"' && last == '"':
		if jsontext.Check(raw, jsontext.Limits{}) != nil {
			return ID{}, false
		}
	case first <= ' ' || last <= ' ' || !jsontext.IsInteger(raw):
		return ID{}, false
	}
	return ID{raw: string(raw)}, true
}

// plainInt reads an integer of int64 that is spelled as IntID would write it.
func plainInt(raw []byte) (n int64, ok bool) {
	digits := raw
	if raw[0] == '-' {
		digits = raw[1:]
	}
	if len(digits) == 0 || len(digits) > 19 || digits[0] == '0' && len(raw) > 1 {
		return 0, false
	}
	for _, b := range digits {
		if b-'0' > 9 {
			return 0, false
		}
		n = n*10 + int64(b-'0')
	}
	if len(digits) == 19 { // it may have overflowed
		n, err := strconv.ParseInt(string(raw), 10, 64)
		return n, err == nil
	}
	if len(digits) < len(raw) {
		n = -n
	}
	return n, true
}

// IsZero says that there is no id.
func (id ID) IsZero() bool { return id.raw == "" }

// String is the id as JSON, as it was written; "" if absent.
func (id ID) String() string {
	if id.raw == inN {
		return strconv.FormatInt(id.n, 10)
	}
	return id.raw
}

// Canonical is the same ID for ids that mean the same and only for them, for use in
// maps. It is not for the wire: a string stands in it unescaped.
func (id ID) Canonical() ID {
	switch id.raw {
	case inN:
		return id
	case "-0":
		return IntID(0)
	}
	return ID{raw: id.text()}
}

// Key is Canonical as a text; "" if absent. It is not JSON.
func (id ID) Key() string { return id.Canonical().String() }

// text is a string unescaped between quotes, not quoted anew: quoting has two forms
// for some characters (U+2028).
func (id ID) text() string {
	if strings.IndexByte(id.raw, '\\') < 0 {
		return id.raw
	}
	text, _ := jsontext.AppendString([]byte{'"'}, []byte(id.raw))
	return string(append(text, '"'))
}

// Append writes the id as it was read.
func (id ID) Append(dst []byte) []byte {
	if id.raw == inN {
		return strconv.AppendInt(dst, id.n, 10)
	}
	return append(dst, id.raw...)
}
