package load

import "bytes"

// Progress is what was seen of the reports of calls.
type Progress struct {
	Reports  int // that came
	Lost     int // that did not come
	Late     int // that came after the result
	Unsteady int // that did not increase
}

// Add adds another's counts.
func (p *Progress) Add(other Progress) {
	p.Reports += other.Reports
	p.Lost += other.Lost
	p.Late += other.Late
	p.Unsteady += other.Unsteady
}

// follower watches the reports of one call.
type follower struct {
	seen     Progress
	last     int
	answered bool
}

func (f *follower) report(message []byte) {
	n, ok := progressOf(message)
	if !ok {
		return
	}
	f.seen.Reports++
	if f.answered {
		f.seen.Late++
	}
	if n <= f.last {
		f.seen.Unsteady++
	}
	f.last = n
}

// end is the end of a call that was to report so often.
func (f *follower) end(want int) Progress {
	f.seen.Lost = max(0, want-f.seen.Reports)
	return f.seen
}

var progressMember = []byte(`"progress":`)

// progressOf reads the count of a report.
func progressOf(message []byte) (n int, ok bool) {
	_, value, _ := bytes.Cut(message, progressMember)
	for _, c := range value {
		if c < '0' || c > '9' {
			break
		}
		n, ok = n*10+int(c-'0'), true
	}
	return n, ok
}

var tokenMember = []byte(`"progressToken":`)

// tokenOf is the id of the call that a report belongs to.
func tokenOf(message []byte) (id uint64, ok bool) {
	_, value, found := bytes.Cut(message, tokenMember)
	if !found {
		return 0, false
	}
	return digits(value)
}

// Events calls f with the data of each event of a stream. Servers of the bench put a
// message into one line.
func Events(stream []byte, f func(message []byte)) {
	for len(stream) > 0 {
		line := stream
		if i := bytes.IndexByte(stream, '\n'); i >= 0 {
			line, stream = stream[:i], stream[i+1:]
		} else {
			stream = nil
		}
		if data, found := bytes.CutPrefix(line, []byte("data:")); found && len(data) > 1 {
			f(bytes.TrimSpace(data))
		}
	}
}
