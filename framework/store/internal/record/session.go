package record

import (
	"encoding/binary"

	"github.com/kagami-mcp/kagami/protocol/session"
)

// sessionFormat is the number of the format that AppendSession writes. A new field requires a
// higher number, and a ParseSession that reads both formats.
const sessionFormat = 1

// AppendSession appends the record to dst. The result shares no memory with r.
func AppendSession(dst []byte, r *session.Record) []byte {
	dst = append(dst, sessionFormat)
	dst = appendBytes(dst, r.ID)
	dst = appendBytes(dst, r.Principal)
	dst = binary.AppendUvarint(dst, r.Version)
	dst = appendTime(dst, r.Expires)
	return appendBytes(dst, r.Data)
}

// ParseSession returns the record that AppendSession wrote. The error wraps [ErrNewer] or
// [ErrMalformed].
func ParseSession(data []byte) (session.Record, error) {
	p := parser{rest: data}
	p.format("session", sessionFormat)
	r := session.Record{
		ID:        string(p.bytes()),
		Principal: string(p.bytes()),
		Version:   p.uvarint(),
		Expires:   p.time(),
		Data:      p.clone(),
	}
	if err := p.end("session"); err != nil {
		return session.Record{}, err
	}
	return r, nil
}
