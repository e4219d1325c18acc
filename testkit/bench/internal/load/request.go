package load

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// Request is a message as prepared bytes. For each request only the digits of the id are replaced. A
// Request is not safe for concurrent use.
type Request struct {
	bytes []byte
	at    []int // where the digits stand; none in a notification
	id    uint64
}

func newRequest(head, body string) *Request {
	text := head + body
	r := &Request{bytes: []byte(text), id: firstID}
	for from := 0; ; {
		i := strings.Index(text[from:], idMark)
		if i < 0 {
			break
		}
		r.at = append(r.at, from+i)
		from += i + idDigits
	}
	r.SetID(firstID)
	return r
}

// Bytes are the request. They change with the next id.
func (r *Request) Bytes() []byte { return r.bytes }

// Next takes the next id.
func (r *Request) Next() { r.SetID(r.id + 1) }

// SetID sets an id of at most ten digits.
func (r *Request) SetID(id uint64) {
	r.id = id
	for _, at := range r.at {
		n := id
		for i := idDigits - 1; i >= 0; i-- {
			r.bytes[at+i] = byte('0' + n%10)
			n /= 10
		}
	}
}

// ID is the id that the request has now.
func (r *Request) ID() uint64 { return r.id }

// What an answer is not.
var (
	errForeign = errors.New("the answer has another id")
	errFailed  = errors.New("the answer is not a result")
)

// edge is how much of both ends of an answer is looked at: members of a response and
// of its result stand there, whatever is between.
const edge = 1 << 10

// Check returns an error unless a message, or the body of a response, is the result of r.
func (r *Request) Check(answer []byte) error {
	id, ok := IDOf(answer)
	if !ok || id != r.id {
		return errForeign
	}
	return success(answer)
}

func success(answer []byte) error {
	if !atEdges(answer, `"result":`) || atEdges(answer, `"isError":true`) {
		return fmt.Errorf("%w: %.300s", errFailed, answer)
	}
	return nil
}

func edges(answer []byte) (head, tail []byte) {
	if len(answer) <= 2*edge {
		return answer, nil
	}
	return answer[:edge], answer[len(answer)-edge:]
}

func atEdges(answer []byte, text string) bool {
	head, tail := edges(answer)
	return bytes.Contains(head, []byte(text)) || bytes.Contains(tail, []byte(text))
}

var idMember = []byte(`"id":`)

// IDOf finds the id of an answer: a number of ten digits, which nothing else in the
// answers of the bench is named id for.
func IDOf(answer []byte) (id uint64, ok bool) {
	head, tail := edges(answer)
	if id, ok = idIn(head); ok {
		return id, true
	}
	return idIn(tail)
}

func idIn(part []byte) (id uint64, ok bool) {
	for {
		i := bytes.Index(part, idMember)
		if i < 0 {
			return 0, false
		}
		part = part[i+len(idMember):]
		if id, ok = digits(part); ok {
			return id, true
		}
	}
}

func digits(text []byte) (n uint64, ok bool) {
	if len(text) < idDigits+1 {
		return 0, false
	}
	for _, c := range text[:idDigits] {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	after := text[idDigits]
	return n, after == ',' || after == '}'
}

var notification = []byte(`"method":"notifications/`)

// Notification reports whether a message is a notification.
func Notification(message []byte) bool {
	return bytes.Contains(message[:min(len(message), 256)], notification)
}
