package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// Stdio keeps up to depth requests open on a pair of pipes. Ids are made so that the
// answers tell which of them they belong to.
type Stdio struct {
	in      io.Writer
	out     io.Reader
	depth   int
	line    *Request
	slots   []slot
	free    []int
	write   []byte
	read    []byte
	reports int
	follow  follower
	heard   func(line []byte, round *Round) // takes notifications
}

// slot is one of the requests that are open.
type slot struct {
	turn uint64
	id   uint64 // 0: free
	sent time.Time
}

// pipeSize is what fits into a pipe: more must not be on its way, or both sides would
// wait for the other to read.
const pipeSize = 64 << 10

// NewStdio asks m. reports is how many reports of progress belong to an answer; then
// depth is 1.
func NewStdio(m Message, in io.Writer, out io.Reader, depth, reports int) (*Stdio, error) {
	s := &Stdio{in: in, out: out, depth: depth, line: m.Line(), reports: reports, read: make([]byte, 0, 256<<10)}
	if depth < 1 || depth*len(s.line.Bytes()) > pipeSize || reports > 0 && depth != 1 {
		return nil, fmt.Errorf("%d requests of %d bytes at once do not fit", depth, len(s.line.Bytes()))
	}
	s.slots, s.heard = make([]slot, depth), s.report
	for i := range depth {
		s.free = append(s.free, depth-1-i)
	}
	return s, nil
}

// Greet is the handshake.
func Greet(era Era, in io.Writer, out io.Reader) error {
	initialize, initialized := era.Open()
	s, err := NewStdio(initialize, in, out, 1, 0)
	if err != nil {
		return err
	}
	if _, err := s.Sample(); err != nil {
		return fmt.Errorf("initializing: %w", err)
	}
	_, err = in.Write(initialized.Line().Bytes())
	return err
}

// Sample returns the answer to one request, without its newline. It skips progress notifications that
// follow the answer, so that the next round does not count them.
func (s *Stdio) Sample() ([]byte, error) {
	var round Round
	var sample []byte
	if err := s.fill(1); err != nil {
		return nil, err
	}
	for len(s.free) < s.depth {
		if err := s.receive(&round, &sample); err != nil {
			return nil, err
		}
	}
	if s.reports > 0 && round.Err == nil {
		s.drain(&round)
	}
	return sample, round.Err
}

// Run asks for d, and at least once, and ends when all is answered.
func (s *Stdio) Run(ctx context.Context, d time.Duration) Round {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var over atomic.Bool
	defer context.AfterFunc(ctx, func() { over.Store(true) })()
	round := s.until(over.Load)
	if s.reports > 0 && round.Err == nil {
		s.drain(&round)
	}
	return round
}

// until asks until over says so, and at least once, and ends when all is answered.
func (s *Stdio) until(over func() bool) (round Round) {
	start := time.Now()
	more := true
	for more || len(s.free) < s.depth {
		if err := s.step(more, &round); err != nil {
			round.wrong(err)
			break
		}
		more = more && !over()
	}
	round.Took = time.Since(start)
	return round
}

// step sends requests if more is set, and reads once. At least one request must be open by then,
// because otherwise the read would wait forever.
func (s *Stdio) step(more bool, round *Round) error {
	if more {
		if err := s.fill(s.depth); err != nil {
			return err
		}
	}
	return s.receive(round, nil)
}

// late is how long reports that follow their result may take.
const late = 50 * time.Millisecond

// drain reads what comes after the last result: up to the answer to a ping, which is
// sent when all should be in the pipe.
func (s *Stdio) drain(round *Round) {
	time.Sleep(late)
	ping, err := NewStdio(Handshake().bare("ping", ""), s.in, s.out, 1, 0)
	if err != nil {
		round.wrong(err)
		return
	}
	ping.heard = func(line []byte, _ *Round) { s.report(line, round) }
	if _, err := ping.Sample(); err != nil {
		round.wrong(err)
	}
}

// fill sends with one write until most are open.
func (s *Stdio) fill(most int) error {
	s.write = s.write[:0]
	now := time.Now()
	for len(s.free) > 0 && s.depth-len(s.free) < most {
		i := s.free[len(s.free)-1]
		s.free = s.free[:len(s.free)-1]
		at := &s.slots[i]
		at.turn++
		at.id = firstID + at.turn*uint64(s.depth) + uint64(i)
		at.sent = now
		s.line.SetID(at.id)
		s.write = append(s.write, s.line.Bytes()...)
	}
	if len(s.write) == 0 {
		return nil
	}
	_, err := s.in.Write(s.write)
	return err
}

// receive reads once, and takes all lines that are complete.
func (s *Stdio) receive(round *Round, sample *[]byte) error {
	if cap(s.read)-len(s.read) < minRead {
		s.read = append(make([]byte, 0, 2*cap(s.read)), s.read...)
	}
	seen := len(s.read)
	n, err := s.out.Read(s.read[seen:cap(s.read)])
	s.read = s.read[:seen+n]
	if n == 0 && err != nil {
		return fmt.Errorf("reading answers: %w", err)
	}
	if bytes.IndexByte(s.read[seen:], '\n') < 0 {
		return nil
	}
	rest := s.read
	for {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			break
		}
		s.take(rest[:i], round, sample)
		rest = rest[i+1:]
	}
	s.read = s.read[:copy(s.read, rest)]
	return nil
}

var errUnasked = errors.New("an answer to no request that is open")

func (s *Stdio) take(line []byte, round *Round, sample *[]byte) {
	if len(line) == 0 {
		return
	}
	if Notification(line) {
		s.heard(line, round)
		return
	}
	round.Requests++
	id, ok := IDOf(line)
	i := int((id - firstID) % uint64(s.depth))
	if !ok || id < firstID || s.slots[i].id != id {
		round.wrong(fmt.Errorf("%w: %.300s", errUnasked, line))
		return
	}
	round.Latency.Add(time.Since(s.slots[i].sent))
	s.slots[i].id = 0
	s.free = append(s.free, i)
	if err := success(line); err != nil {
		round.wrong(err)
	}
	if sample != nil {
		*sample = append((*sample)[:0], line...)
	}
	if s.reports > 0 {
		round.Progress.Add(s.follow.end(s.reports))
		s.follow = follower{}
	}
}

// report counts a report of the call that is open, or of one that has its result.
func (s *Stdio) report(line []byte, round *Round) {
	if s.reports == 0 {
		return
	}
	if token, ok := tokenOf(line); ok && token == s.slots[0].id {
		s.follow.report(line)
		return
	}
	round.Progress.Add(Progress{Reports: 1, Late: 1, Lost: -1})
}
