package reactor

import (
	"errors"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kagami-mcp/kagami/transport/internal/tally"
)

// loop waits for its members, which are connections. As long as it has some, a goroutine does that.
type loop struct {
	always bool          // it is always busy
	busy   atomic.Bool   // connections are to be members; else they are to wait for themselves
	reads  atomic.Uint64 // of connections that wait for themselves
	need   atomic.Uint64 // how often in a row one must find others busy, for the loop to be

	parting *tally.Tally // those that were closed and have not written all

	mu      sync.Mutex // guards the fields below; taken after the lock of a connection
	members map[int32]*Conn
	epoll   *os.File // for which Go's own poller waits; nil: there was no member yet
	ended   bool     // none may join

	gathers bool      // what is put down will be written
	since   time.Time // of that
	owed    int       // how many of those that were woken have put nothing down
	down    letters

	writing sync.Mutex // guards the field below; taken before the lock of a connection
	flying  letters    // those that are being written
}

// letters are what connections have put down to be written.
type letters struct {
	from []*Conn
	text []byte // what theirs are parts of
}

const (
	// batch is how many connections are read at a time. The first waits for the last.
	batch = 64
	// room bounds what is put down. What does not fit is written at once.
	room = 64 << 10
	// haste is how long something may lie there. Then whoever puts the next down writes all.
	haste = 500 * time.Microsecond
	// yields is how often the loop lets others go first. Then it writes what is there.
	yields = 3
)

func newLoop(always bool) *loop {
	l := &loop{always: always, parting: tally.New(), members: make(map[int32]*Conn)}
	l.busy.Store(always)
	l.need.Store(needed)
	return l
}

// add makes the loop wait for c's descriptor. Edges are enough: a Conn knows what is left of the last one.
func (l *loop) add(c *Conn) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return net.ErrClosed
	}
	if err := l.open(); err != nil {
		return err
	}
	event := unix.EpollEvent{Fd: int32(c.fd), Events: readable | unix.EPOLLOUT | unix.EPOLLET&0xffffffff}
	if err := l.control(unix.EPOLL_CTL_ADD, c.fd, &event); err != nil {
		l.close()
		return err
	}
	l.members[event.Fd] = c
	if len(l.members) == 1 {
		go l.run(l.epoll)
	}
	return nil
}

func (l *loop) open() error {
	if l.epoll != nil {
		return nil
	}
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	_ = unix.SetNonblock(fd, true) // or os.NewFile would not let Go's poller wait for it
	epoll := os.NewFile(uintptr(fd), "epoll")
	if err := epoll.SetReadDeadline(time.Time{}); err != nil { // it does not wait for it, of which NewFile says nothing
		return errors.Join(err, epoll.Close())
	}
	l.epoll = epoll
	return nil
}

// close ends the loop's goroutine if there is no member. The caller holds l.mu.
func (l *loop) close() {
	if len(l.members) == 0 {
		_ = l.epoll.Close()
		l.epoll = nil
	}
}

func (l *loop) control(op, fd int, event *unix.EpollEvent) error {
	raw, err := l.epoll.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(epoll uintptr) { failed = unix.EpollCtl(int(epoll), op, fd, event) })
	return errors.Join(err, os.NewSyscallError("epoll_ctl", failed))
}

// remove makes the loop forget c, while its descriptor is open. With the last member the loop's goroutine ends.
func (l *loop) remove(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.control(unix.EPOLL_CTL_DEL, c.fd, nil) // it is a member
	delete(l.members, int32(c.fd))
	l.close()
}

// end says that there will be no more members.
func (l *loop) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
}

// run is the loop's goroutine.
func (l *loop) run(epoll *os.File) {
	r := &reactor{loop: l}
	raw, err := epoll.SyscallConn()
	if err != nil {
		return // it was closed
	}
	look := r.look
	for raw.Read(look) == nil { // until it is closed
		r.round()
	}
}

// gather is called before several connections are woken.
func (l *loop) gather(several int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gathers, l.since, l.owed = true, time.Now(), several
}

// gathering reports whether nobody has written what is put down.
func (l *loop) gathering() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gathers
}

// put puts p down, to be written soon. The caller holds c.mu. It returns p's copy, which is valid until c.flush was
// called; nil: the caller must write p itself. If it is due, the caller calls write when it has released c.mu.
func (l *loop) put(c *Conn, p []byte) (copied []byte, due bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.gathers {
		return nil, false
	}
	if l.owed--; l.owed <= 0 || time.Since(l.since) > haste {
		due = true
	}
	if len(l.down.text)+len(p) > room {
		return nil, due
	}
	if l.down.text == nil {
		l.down.text = make([]byte, 0, room)
	}
	at := len(l.down.text)
	l.down.text = append(l.down.text, p...)
	l.down.from = append(l.down.from, c)
	return l.down.text[at:], due
}

// write writes what was put down.
func (l *loop) write() {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	l.gathers = false
	l.down, l.flying = letters{l.flying.from[:0], l.flying.text[:0]}, l.down
	l.mu.Unlock()
	for i, c := range l.flying.from {
		c.flush()
		l.flying.from[i] = nil
	}
}

// reactor is what the loop's goroutine has for itself.
type reactor struct {
	*loop
	events [batch]unix.EpollEvent
	n      int // how many events there are
	ready  []*Conn
	woken  []*Conn

	rounds, served int // of this window
	windows        int // in a row, with much to do
}

// look asks for events, and does not wait. False: there are none.
func (r *reactor) look(fd uintptr) bool {
	n, err := again(func() (int, error) { return unix.EpollWait(int(fd), r.events[:], 0) })
	r.n = n
	return err != nil || n > 0
}

// round serves all events that have come.
func (r *reactor) round() {
	r.read()
	several := len(r.woken) > 1
	if several {
		r.gather(len(r.woken))
	}
	for i, c := range r.woken {
		c.woken <- struct{}{}
		r.woken[i] = nil
	}
	if several {
		for i := 0; i < yields && r.gathering(); i++ {
			runtime.Gosched()
		}
		r.write()
	}
	r.judge()
}

// read passes the events on, and notes whom to wake.
func (r *reactor) read() {
	r.ready, r.woken = r.ready[:0], r.woken[:0]
	r.mu.Lock()
	for i := range r.events[:r.n] {
		// One that has left is nil. If its descriptor is another's already, that finds nothing to read.
		r.ready = append(r.ready, r.members[r.events[i].Fd])
	}
	r.mu.Unlock()
	for i, c := range r.ready {
		if c != nil && c.event(r.events[i].Events) {
			r.woken = append(r.woken, c)
		}
		r.ready[i] = nil
	}
}

const (
	// window is how many rounds are judged together.
	window = 64
	// worth is how many connections must be read in a round, on average.
	worth = 3
	// lasting is for how many windows there must have been much to do, for having moved to be worth it.
	lasting = 64
)

// judge sends the members away if there is little to do at a time.
func (r *reactor) judge() {
	r.rounds++
	r.served += len(r.woken)
	if r.rounds < window {
		return
	}
	much := r.served >= window*worth
	r.rounds, r.served = 0, 0
	if much || r.always {
		r.windows++
		return
	}
	if r.busy.CompareAndSwap(true, false) {
		r.need.Store(r.convinced())
	}
	r.windows = 0
}

const (
	// needed is how often in a row a connection must find others busy, at first, and after it was worth it.
	needed = 4
	// most bounds that.
	most = 1 << 20
)

// convinced is how often it must be the next time: twice as often, if it was not worth it to move. Otherwise a load at
// the border would have connections move all the time.
func (r *reactor) convinced() uint64 {
	if r.windows >= lasting {
		return needed
	}
	return min(2*r.need.Load(), most)
}

// crowd is what a connection that waits for itself knows about others.
type crowd struct {
	last  uint64    // the number of its last read
	since time.Time // of that, if others were busy
	often uint64    // how often in a row that was so
}

const (
	// others is how many other reads there must be between two of a connection.
	others = 12
	// pace is how much time there may be for each of them.
	pace = 50 * time.Microsecond
)

// count counts a read of a connection that waits for itself. The loop is busy if there are many others.
func (w *crowd) count(l *loop) {
	number := l.reads.Add(1)
	between := number - w.last
	w.last = number
	if between <= others {
		w.often = 0
		return
	}
	now := time.Now()
	if w.often++; now.Sub(w.since) > time.Duration(between)*pace { //nolint:gosec // a number of reads in memory
		w.often = 0
	}
	w.since = now
	if w.often >= l.need.Load() {
		w.often = 0
		l.busy.Store(true)
	}
}
