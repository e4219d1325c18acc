package catalog

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"

	"github.com/kagami-mcp/kagami/protocol"
)

// A cursor consists of the kind of the list, the place and the key of the last entry that was
// sent, and a truncated HMAC. The key finds the entry again if it has moved; the place is used
// if the entry is gone, or the key is long.
//
// The HMAC detects cursors of other servers and mistakes. It does not stop an attacker, because the
// secret may be known. So a cursor must not reveal anything to the client: its key counts only if
// the caller may list the entry.
const (
	macSize   = 12
	maxKey    = 2 << 10
	maxCursor = 4 << 10
)

func (c *Config) cursor(kind protocol.ListKind, last *Entry) string {
	buf := make([]byte, 0, 64)
	buf = append(buf, byte(kind))
	buf = binary.AppendUvarint(buf, last.order)
	if len(last.Key) <= maxKey {
		buf = append(buf, last.Key...)
	}
	return base64.RawURLEncoding.EncodeToString(append(buf, c.mac(buf)...))
}

func (c *Config) mac(payload []byte) []byte {
	h := hmac.New(sha256.New, c.Secret)
	h.Write(payload)
	return h.Sum(nil)[:macSize]
}

func (c *Config) parseCursor(kind protocol.ListKind, cursor string) (order uint64, key string, ok bool) {
	if len(cursor) > maxCursor {
		return 0, "", false
	}
	buf, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	// The decoder skips line breaks, even in strict mode, but a cursor must have only one
	// spelling.
	if err != nil || len(buf) <= macSize || strings.ContainsAny(cursor, "\r\n") {
		return 0, "", false
	}
	payload, mac := buf[:len(buf)-macSize], buf[len(buf)-macSize:]
	if !hmac.Equal(mac, c.mac(payload)) || payload[0] != byte(kind) {
		return 0, "", false
	}
	order, n := binary.Uvarint(payload[1:])
	if n <= 0 {
		return 0, "", false
	}
	return order, string(payload[1+n:]), true
}
