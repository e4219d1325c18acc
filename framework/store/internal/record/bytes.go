package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"
)

// Errors of the parsers, always wrapped.
var (
	// ErrNewer is the error for data that a later version of this program wrote.
	ErrNewer = errors.New("record: of a newer format")
	// ErrMalformed is the error for data that is not a record, or only a part of one.
	ErrMalformed = errors.New("record: malformed")
)

// appendBytes appends the length of s, followed by s.
func appendBytes[T ~string | ~[]byte](dst []byte, s T) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

// appendTime appends seconds and nanoseconds separately. Nanoseconds since 1970 overflow in 2262,
// and the zero time must be kept.
func appendTime(dst []byte, t time.Time) []byte {
	dst = binary.AppendVarint(dst, t.Unix())
	return binary.AppendUvarint(dst, uint64(t.Nanosecond()))
}

// parser reads fields one after the other. After a fault, all further fields are empty, and end
// returns the fault.
type parser struct {
	rest []byte
	err  error
}

func (p *parser) fail(err error) {
	if p.err == nil {
		p.err = err
	}
	p.rest = nil
}

// take returns the next n bytes. If there are fewer, or there was a fault, it returns nil.
func (p *parser) take(n int) []byte {
	if n > len(p.rest) {
		p.fail(ErrMalformed)
		return nil
	}
	b := p.rest[:n]
	p.rest = p.rest[n:]
	return b
}

// format reads the number of the format, and fails if it is newer than newest.
func (p *parser) format(what string, newest byte) {
	switch b := p.take(1); {
	case len(b) == 0:
	case b[0] > newest:
		p.fail(fmt.Errorf("%w: %s format %d, this program knows up to %d", ErrNewer, what, b[0], newest))
	case b[0] == 0:
		p.fail(ErrMalformed)
	}
}

func (p *parser) uvarint() uint64 { return number(p, binary.Uvarint) }

func (p *parser) varint() int64 { return number(p, binary.Varint) }

func number[T uint64 | int64](p *parser, read func([]byte) (T, int)) T {
	v, n := read(p.rest)
	if n <= 0 {
		p.fail(ErrMalformed)
		return 0
	}
	p.rest = p.rest[n:]
	return v
}

// int reads a number. It checks the range, because an int may have 32 bits.
func (p *parser) int() int {
	v := p.varint()
	if v < math.MinInt || v > math.MaxInt {
		p.fail(ErrMalformed)
		return 0
	}
	return int(v)
}

// count reads the number of elements. It fails if the data is too short for that many elements of
// at least each bytes.
func (p *parser) count(each int) int {
	v := p.uvarint()
	if v > uint64(len(p.rest)/each) {
		p.fail(ErrMalformed)
		return 0
	}
	return int(v)
}

// bytes returns the next byte slice, which shares its memory with the data.
func (p *parser) bytes() []byte { return p.take(p.count(1)) }

func (p *parser) duration() time.Duration { return time.Duration(p.varint()) }

func (p *parser) time() time.Time {
	sec, nsec := p.varint(), p.uvarint()
	if nsec >= uint64(time.Second) {
		p.fail(ErrMalformed)
	}
	if p.err != nil {
		return time.Time{}
	}
	return time.Unix(sec, int64(nsec)).UTC()
}

// end returns the fault, if there was one. Bytes after the last field are also a fault.
func (p *parser) end(what string) error {
	if len(p.rest) > 0 {
		p.fail(ErrMalformed)
	}
	if p.err != nil {
		return fmt.Errorf("parsing a %s: %w", what, p.err)
	}
	return nil
}
