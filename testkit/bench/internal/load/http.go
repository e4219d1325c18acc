package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// patience is how long a server may take to accept a connection, and life how long a
// connection is used at most: nothing here may wait for ever.
const (
	patience = 30 * time.Second
	life     = time.Hour
)

// Client is one keep-alive connection. Not safe for concurrent use.
type Client struct {
	addr   string
	conn   net.Conn // nil after an end
	reader *Reader
	answer Answer
}

// NewClient makes a client; it dials when it has something to say.
func NewClient(addr string) *Client {
	return &Client{addr: addr, reader: NewReader(nil)}
}

// Close closes the connection, if there is one.
func (c *Client) Close() error {
	if c.conn == nil {
		return nil
	}
	conn := c.conn
	c.conn = nil
	return conn.Close()
}

// send writes ready bytes on a connection that is open.
func (c *Client) send(request []byte) error {
	if c.conn == nil {
		conn, err := net.DialTimeout("tcp", c.addr, patience) //nolint:noctx // a client has no context: it ends with its deadline
		if err != nil {
			return err
		}
		c.conn = conn
		c.reader.Reset(conn)
		if err := conn.SetDeadline(time.Now().Add(life)); err != nil {
			return err
		}
	}
	_, err := c.conn.Write(request)
	return err
}

// Do sends a request and reads the answer, which is valid until the next.
func (c *Client) Do(r *Request) (*Answer, error) {
	err := c.send(r.Bytes())
	if err == nil {
		err = c.reader.Read(&c.answer)
	}
	if err != nil || c.answer.Close {
		err = errors.Join(err, c.Close())
	}
	return &c.answer, err
}

// Stream sends a request and reads the header of the answer, whose body goes on.
func (c *Client) Stream(r *Request) (*Answer, error) {
	err := c.send(r.Bytes())
	if err == nil {
		err = c.reader.Head(&c.answer)
	}
	return &c.answer, err
}

// OpenSession is the handshake; the session is empty where the server has none.
func (c *Client) OpenSession(era Era, to Site) (session string, err error) {
	initialize, initialized := era.Open()
	r := initialize.POST(to)
	a, err := c.Do(r)
	if err != nil {
		return "", fmt.Errorf("initializing: %w", err)
	}
	if err := check(a, r); err != nil {
		return "", fmt.Errorf("initializing: %w", err)
	}
	to.Session = a.Session
	if a, err = c.Do(initialized.POST(to)); err != nil {
		return "", fmt.Errorf("initialized: %w", err)
	}
	if a.Status != http.StatusAccepted && a.Status != http.StatusOK {
		return "", fmt.Errorf("initialized: status %d: %.300s", a.Status, a.Body)
	}
	return to.Session, nil
}

func check(a *Answer, r *Request) error {
	if a.Status != http.StatusOK {
		return fmt.Errorf("status %d: %.300s", a.Status, a.Body)
	}
	return r.Check(a.Body)
}

// HTTP is a set of connections. On each, requests are sent one after another.
type HTTP struct {
	clients  []*Client
	requests []*Request
	reports  int // of progress in each answer
}

// NewHTTP asks m on so many connections. reports is how many reports of progress
// belong to an answer, which is a stream then.
func NewHTTP(m Message, to Site, connections, reports int) *HTTP {
	h := &HTTP{reports: reports}
	for i := range connections {
		r := m.POST(to)
		r.SetID(firstID + uint64(i)*10_000_000)
		h.clients, h.requests = append(h.clients, NewClient(to.Addr)), append(h.requests, r)
	}
	return h
}

// Close closes all connections.
func (h *HTTP) Close() error {
	var err error
	for _, c := range h.clients {
		err = errors.Join(err, c.Close())
	}
	return err
}

// Sample is the answer to one request.
func (h *HTTP) Sample() (Answer, error) {
	h.requests[0].Next()
	a, err := h.clients[0].Do(h.requests[0])
	if err != nil {
		return Answer{}, err
	}
	sample := *a
	sample.Body = slices.Clone(a.Body)
	return sample, check(a, h.requests[0])
}

// Run asks for d on all connections, and at least once on each; each ends with the
// answer that it waits for.
func (h *HTTP) Run(ctx context.Context, d time.Duration) Round {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var over atomic.Bool
	defer context.AfterFunc(ctx, func() { over.Store(true) })()
	parts := make([]Round, len(h.clients))
	start := time.Now()
	var all sync.WaitGroup
	for i := range h.clients {
		all.Go(func() { h.ask(i, &parts[i], &over) })
	}
	all.Wait()
	sum := Round{Took: time.Since(start)}
	for i := range parts {
		sum.add(&parts[i])
	}
	return sum
}

// ask is one connection, which asks at least once. One that fails gives up.
func (h *HTTP) ask(i int, round *Round, over *atomic.Bool) {
	c, r := h.clients[i], h.requests[i]
	for again := true; again; again = !over.Load() {
		r.Next()
		start := time.Now()
		a, err := c.Do(r)
		round.Requests++
		if err != nil {
			round.wrong(err)
			return
		}
		round.Latency.Add(time.Since(start))
		if err := h.judge(a, r, round); err != nil {
			round.wrong(err)
		}
	}
}

func (h *HTTP) judge(a *Answer, r *Request, round *Round) error {
	if h.reports == 0 {
		return check(a, r)
	}
	if a.Status != http.StatusOK || !a.SSE {
		return fmt.Errorf("status %d, no stream: %.300s", a.Status, a.Body)
	}
	var f follower
	err := errors.New("a stream without a result")
	Events(a.Body, func(message []byte) {
		if Notification(message) {
			f.report(message)
			return
		}
		f.answered, err = true, r.Check(message)
	})
	round.Progress.Add(f.end(h.reports))
	return err
}
