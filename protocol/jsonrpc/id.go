package jsonrpc

import (
	"strconv"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// maxID is the maximum length of an id in bytes. The id is kept while the request is in flight and
// repeated in every response.
const maxID = 1024

// ID is a request id: a JSON string or integer. The zero ID is an absent id.
//
// IDs are comparable: 1 and "1" differ. Two spellings of one string ("a" and "\u0061") are
// different values with the same Key.
type ID struct {
	raw string // the JSON text from the wire, or inN; empty if the id is absent
	n   int64
}

// inN is the raw of an ID whose text is the number n. Most ids are such integers, and storing n
// needs no memory for a text. No other ID has this raw, because it is not JSON.
const inN = "n"

// IntID returns the id of an integer.
func IntID(n int64) ID { return ID{raw: inN, n: n} }

// StringID returns the id of a string. It has no limit on the length, but ParseID refuses ids of
// more than 1,024 bytes of JSON.
func StringID(s string) ID { return ID{raw: string(jsontext.Quote(nil, s))} }

// ParseID returns the id in raw, a JSON text without space around it. It returns false if raw is
// neither a string nor an integer, or is longer than 1,024 bytes (2025-11-25 basic, "Requests").
// ParseID copies raw. It also checks raw, because ids come from stores and headers, too.
func ParseID(raw []byte) (ID, bool) {
	if len(raw) == 0 || len(raw) > maxID {
		return ID{}, false
	}
	n, ok := jsontext.Int64(raw)
	for _, b := range raw { // only one spelling has neither a point nor an exponent nor space
		if b-'0' > 9 && b != '-' {
			ok = false
		}
	}
	if ok && string(raw) != "-0" {
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

// IsZero reports whether the id is absent.
func (id ID) IsZero() bool { return id.raw == "" }

// String returns the JSON text of the id as it was written, or "" if the id is absent.
func (id ID) String() string {
	if id.raw == inN {
		return strconv.FormatInt(id.n, 10)
	}
	return id.raw
}

// Canonical returns an ID for use as a map key: it is equal for two ids exactly if they mean the
// same. Do not write it to the wire, because it contains strings unescaped.
func (id ID) Canonical() ID {
	switch id.raw {
	case inN:
		return id
	case "-0":
		return IntID(0)
	}
	return ID{raw: id.text()}
}

// Key returns the canonical ID as a string, or "" if the id is absent. The string is not JSON.
func (id ID) Key() string { return id.Canonical().String() }

// text returns raw with a string unescaped between its quotes. It does not quote the string again,
// because some characters (U+2028) have two quoted forms.
func (id ID) text() string {
	if strings.IndexByte(id.raw, '\\') < 0 {
		return id.raw
	}
	text, _ := jsontext.AppendString([]byte{'"'}, []byte(id.raw))
	return string(append(text, '"'))
}

// Append appends the JSON text of the id to dst, as it was written.
func (id ID) Append(dst []byte) []byte {
	if id.raw == inN {
		return strconv.AppendInt(dst, id.n, 10)
	}
	return append(dst, id.raw...)
}
