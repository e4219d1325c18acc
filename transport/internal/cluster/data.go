package cluster

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

// Digest returns the name of a session for stores and messages, which must not contain its id: the id
// is a secret of the client. The digests of an id for different purposes are unrelated.
func Digest(purpose, id string) string {
	sum := sha256.Sum256([]byte(purpose + "\x00" + id))
	return strings.ToLower(digits.EncodeToString(sum[:20]))
}

var errFrame = errors.New("cluster: the data have no head")

// Join returns head as JSON, which does not contain a line break, a line break, and a copy of body.
func Join[T any](head T, body []byte) ([]byte, error) {
	data, err := json.Marshal(head)
	if err != nil {
		return nil, fmt.Errorf("cluster: writing a head: %w", err)
	}
	return append(append(data, '\n'), body...), nil
}

// Split undoes Join. The body that it returns is a part of data. Numbers in values of type any are of
// type json.Number, as package auth makes them in claims: a float64 cannot hold each number of a tenant.
func Split[T any](data []byte) (head T, body []byte, err error) {
	first, body, found := bytes.Cut(data, []byte{'\n'})
	if !found {
		return head, nil, errFrame
	}
	d := json.NewDecoder(bytes.NewReader(first))
	d.UseNumber()
	if err := d.Decode(&head); err != nil {
		return head, nil, fmt.Errorf("cluster: reading a head: %w", err)
	}
	if d.More() {
		return head, nil, errFrame
	}
	return head, body, nil
}
