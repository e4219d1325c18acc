package rounds

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Fingerprint identifies a question by a hash of its method and text.
type Fingerprint [8]byte

// FingerprintOf returns the fingerprint of the question with this method and these parameters.
func FingerprintOf(method string, params []byte) Fingerprint {
	sum := sha256.Sum256(slices.Concat([]byte(method), []byte{0}, params))
	return Fingerprint(sum[:8])
}

// Kind is the kind of a question.
type Kind byte

// The kinds of questions.
const (
	Elicit Kind = iota
	Sample
	Roots
)

// Question identifies a question that a handler asked.
type Question struct {
	Key         string
	Kind        Kind
	Fingerprint Fingerprint
}

// Answer is a question with the client's answer. Value is the result without an envelope.
type Answer struct {
	Question
	Value []byte
}

// Effect is an action that happened once. Value is its result as JSON.
type Effect struct {
	Key   string
	Value []byte
}

// Journal is the state of one logical call between two rounds.
type Journal struct {
	Call    string // identifies the logical call
	Round   int    // number of the execution that reads the journal; 0 is the first
	Expires time.Time
	Answers []Answer
	Effects []Effect
	Open    []Question // questions of the last round that are not answered
}

// ErrMalformed means that a text is not a journal. For a text that Open returned, this happens only
// if a newer program sealed it.
var ErrMalformed = errors.New("rounds: malformed journal")

// version is the first byte of a journal.
const version = 1

// Append appends the journal to dst in a binary form. The form is small, because clients carry it.
func (j *Journal) Append(dst []byte) []byte {
	dst = append(dst, version)
	dst = appendText(dst, j.Call)
	dst = binary.AppendUvarint(dst, uint64(j.Round))
	dst = binary.AppendVarint(dst, j.Expires.Unix())
	dst = binary.AppendUvarint(dst, uint64(len(j.Answers)))
	for _, a := range j.Answers {
		dst = appendText(appendQuestion(dst, a.Question), string(a.Value))
	}
	dst = binary.AppendUvarint(dst, uint64(len(j.Effects)))
	for _, e := range j.Effects {
		dst = appendText(appendText(dst, e.Key), string(e.Value))
	}
	dst = binary.AppendUvarint(dst, uint64(len(j.Open)))
	for _, q := range j.Open {
		dst = appendQuestion(dst, q)
	}
	return dst
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func appendQuestion(dst []byte, q Question) []byte {
	dst = append(appendText(dst, q.Key), byte(q.Kind))
	return append(dst, q.Fingerprint[:]...)
}

// Parse decodes the form that Append writes. It returns ErrMalformed for any other text. The
// journal does not alias text.
func Parse(text []byte) (*Journal, error) {
	r := &reader{rest: text}
	if v := r.octet(); v != version {
		return nil, fmt.Errorf("%w: version %d", ErrMalformed, v)
	}
	j := &Journal{Call: string(r.text()), Round: int(min(r.number(), 1<<20)), Expires: time.Unix(r.signed(), 0)}
	for range r.count() {
		j.Answers = append(j.Answers, Answer{Question: r.question(), Value: bytes.Clone(r.text())})
	}
	for range r.count() {
		j.Effects = append(j.Effects, Effect{Key: string(r.text()), Value: bytes.Clone(r.text())})
	}
	for range r.count() {
		j.Open = append(j.Open, r.question())
	}
	if r.failed || len(r.rest) > 0 {
		return nil, ErrMalformed
	}
	return j, nil
}

// reader reads parts from the beginning of rest. After a failure it returns zeros.
type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) fail() {
	r.failed, r.rest = true, nil
}

func (r *reader) octet() byte {
	if len(r.rest) == 0 {
		r.fail()
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *reader) signed() int64 {
	n, size := binary.Varint(r.rest)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// count reads a number of parts. It fails if rest is too short for them, because each part takes at
// least one byte.
func (r *reader) count() uint64 {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.fail()
		return 0
	}
	return n
}

func (r *reader) text() []byte {
	n := r.count()
	part := r.rest[:n]
	r.rest = r.rest[n:]
	return part
}

func (r *reader) question() Question {
	q := Question{Key: string(r.text()), Kind: Kind(r.octet())}
	if len(r.rest) < len(q.Fingerprint) || q.Kind > Roots {
		r.fail()
		return q
	}
	copy(q.Fingerprint[:], r.rest)
	r.rest = r.rest[len(q.Fingerprint):]
	return q
}

// Answered returns the answer to the question with this key, or false if there is none.
func (j *Journal) Answered(key string) (*Answer, bool) {
	i := slices.IndexFunc(j.Answers, func(a Answer) bool { return a.Key == key })
	if i < 0 {
		return nil, false
	}
	return &j.Answers[i], true
}

// Clone returns a copy of the journal. The copy shares the bytes of the values.
func (j *Journal) Clone() *Journal {
	c := *j
	c.Answers = slices.Clone(j.Answers)
	c.Effects = slices.Clone(j.Effects)
	c.Open = slices.Clone(j.Open)
	return &c
}
