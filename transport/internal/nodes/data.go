package nodes

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

var digits = base32.StdEncoding.WithPadding(base32.NoPadding)

// Digest names the session of that id in stores and messages, where the id, which is a
// secret of the client, must not be seen. Digests for different purposes have nothing
// to do with each other.
func Digest(purpose, id string) string {
	sum := sha256.Sum256([]byte(purpose + "\x00" + id))
	return strings.ToLower(digits.EncodeToString(sum[:20]))
}

var errFrame = errors.New("nodes: the data have no head")

// Join puts what a carrier has to say about data before them: JSON, which holds no line
// break, and one line break. It copies body.
func Join[T any](head T, body []byte) ([]byte, error) {
	data, err := json.Marshal(head)
	if err != nil {
		return nil, fmt.Errorf("nodes: writing a head: %w", err)
	}
	return append(append(data, '\n'), body...), nil
}

// Split undoes Join. body is a part of data.
func Split[T any](data []byte) (head T, body []byte, err error) {
	first, body, found := bytes.Cut(data, []byte{'\n'})
	if !found {
		return head, nil, errFrame
	}
	if err := json.Unmarshal(first, &head); err != nil {
		return head, nil, fmt.Errorf("nodes: reading a head: %w", err)
	}
	return head, body, nil
}
