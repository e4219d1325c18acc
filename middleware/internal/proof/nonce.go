package proof

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"time"
)

const (
	nonceStep  = time.Minute // how often the nonce changes
	nonceSteps = 5           // how many steps a nonce is valid for
	nonceBytes = 8 + 16      // the step, and its authentication code
)

// ErrNonce means that a proof has no nonce of this server, or an old one (RFC 9449 §9). The client
// sends another proof, with the nonce of the answer.
var ErrNonce = errors.New("DPoP: the proof has no valid nonce")

// Nonces makes and checks the nonces of a server. A nonce is the time of its making and an HMAC of
// it, so nothing is stored, and processes with one key accept each other's nonces.
type Nonces struct{ key []byte }

// NewNonces returns the nonces of a key.
func NewNonces(key []byte) *Nonces { return &Nonces{key} }

// Now returns the current nonce.
func (n *Nonces) Now() string { return n.of(step(time.Now())) }

func step(at time.Time) int64 { return at.Unix() / int64(nonceStep/time.Second) }

func (n *Nonces) of(step int64) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(step)) //nolint:gosec // a time, of which only the bits count
	mac := hmac.New(sha256.New, n.key)
	mac.Write([]byte("DPoP nonce"))
	mac.Write(b)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(b)[:nonceBytes])
}

// valid reports whether a nonce is of this server and at most five minutes old. The clock of the
// process that made it may be a step ahead.
func (n *Nonces) valid(nonce string) bool {
	b, err := base64.RawURLEncoding.Strict().DecodeString(nonce)
	if err != nil || len(b) != nonceBytes {
		return false
	}
	made, now := int64(binary.BigEndian.Uint64(b)), step(time.Now()) //nolint:gosec // as above
	return made <= now+1 && now-made <= nonceSteps && hmac.Equal([]byte(nonce), []byte(n.of(made)))
}
