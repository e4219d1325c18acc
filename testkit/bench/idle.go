package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/kagami-mcp/kagami/testkit/bench/internal/load"
	"github.com/kagami-mcp/kagami/testkit/bench/internal/proc"
	"github.com/kagami-mcp/kagami/testkit/bench/internal/sample"
)

// Numbers of what waits.
const (
	manySessions, fewSessions = 10_000, 200
	manyStreams, fewStreams   = 2_000, 50
	// openers is on how many connections sessions are opened.
	openers = 16
)

// weight is the memory of a server at one moment.
type weight struct{ heap, resident float64 }

func weigh(p *proc.Process) (weight, error) {
	m, err := p.Memory()
	if err != nil {
		return weight{}, err
	}
	resident, err := p.Resident()
	return weight{float64(m.Heap + m.Stacks), float64(resident)}, err
}

// weighed adds what n of them weigh.
func (b *bench) weighed(id, name string, before, after weight, n int) {
	b.results.add(id, name, metricHeap, (after.heap-before.heap)/1024/float64(n))
	b.results.add(id, name, metricRSS, (after.resident-before.resident)/1024/float64(n))
}

// idleSessions opens sessions that do nothing more, on few connections.
func (b *bench) idleSessions(ctx context.Context, id string, servers []server) error {
	b.begin(id)
	n := manySessions
	if b.few {
		n = fewSessions
	}
	for range min(b.rounds, 3) {
		for _, s := range servers {
			if err := b.openSessions(ctx, id, s, n); err != nil {
				return fmt.Errorf("%s, %s: %w", id, s.name, err)
			}
		}
	}
	return nil
}

func (b *bench) openSessions(ctx context.Context, id string, s server, n int) (err error) {
	p, err := proc.HTTP(ctx, b.program(s.program), s.env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	var clients []*load.Client
	defer func() { err = errors.Join(err, closeAll(clients)) }()
	to := load.Site{Addr: p.Addr, Accept: load.AcceptBoth}
	open := func(count int) error {
		for i := range count {
			if _, err := clients[i%len(clients)].OpenSession(load.Handshake(), to); err != nil {
				return err
			}
		}
		return nil
	}
	for range openers {
		clients = append(clients, load.NewClient(p.Addr))
	}
	if err := open(10 * openers); err != nil { // which fills the pools
		return err
	}
	before, err := weigh(p)
	if err != nil {
		return err
	}
	cpu, err := proc.CPU(p.PID())
	if err != nil {
		return err
	}
	if err := open(n); err != nil {
		return err
	}
	after, err := proc.CPU(p.PID())
	if err != nil {
		return err
	}
	b.results.add(id, s.name, metricCPU, float64((after-cpu).Nanoseconds())/1e3/float64(n))
	full, err := weigh(p)
	if err != nil {
		return err
	}
	b.weighed(id, s.name, before, full, n)
	return nil
}

func closeAll(clients []*load.Client) error {
	var err error
	for _, c := range clients {
		err = errors.Join(err, c.Close())
	}
	return err
}

// idleStreams opens idle streams, each on a connection that was used before. The memory of these
// connections was measured.
func (b *bench) idleStreams(ctx context.Context, id string, era load.Era, servers []server) error {
	b.begin(id)
	n := manyStreams
	if b.few {
		n = fewStreams
	}
	for range min(b.rounds, 3) {
		for _, s := range servers {
			if err := b.openStreams(ctx, id, era, s, n); err != nil {
				return fmt.Errorf("%s, %s: %w", id, s.name, err)
			}
		}
	}
	return nil
}

func (b *bench) openStreams(ctx context.Context, id string, era load.Era, s server, n int) (err error) {
	p, err := proc.HTTP(ctx, b.program(s.program), s.env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	a := &listeners{era: era, addr: p.Addr}
	defer func() { err = errors.Join(err, closeAll(a.clients)) }()
	if err := a.connect(openers); err != nil { // which fills the pools
		return err
	}
	var weights []weight
	for _, step := range []func() error{
		func() error { return nil },
		func() error { return a.connect(n) },
		func() error { return errors.Join(a.listen(n), settled(ctx)) },
	} {
		if err := step(); err != nil {
			return err
		}
		w, err := weigh(p)
		if err != nil {
			return err
		}
		weights = append(weights, w)
	}
	b.results.add(id, s.name, metricBase, (weights[1].heap-weights[0].heap)/1024/float64(n))
	b.weighed(id, s.name, weights[1], weights[2], n)
	return nil
}

// listeners are clients with a connection each.
type listeners struct {
	era     load.Era
	addr    string
	clients []*load.Client
	sites   []load.Site
}

// connect adds n that keep their connection.
func (a *listeners) connect(n int) error {
	for range n {
		c := load.NewClient(a.addr)
		a.clients = append(a.clients, c)
		to, err := settle(c, a.era, a.addr)
		if err != nil {
			return err
		}
		a.sites = append(a.sites, to)
	}
	return nil
}

// listen has the last n open their streams.
func (a *listeners) listen(n int) error {
	for i := len(a.clients) - n; i < len(a.clients); i++ {
		if err := follow(a.clients[i], a.era, a.sites[i]); err != nil {
			return err
		}
	}
	return nil
}

// settle makes a client one of those that keep a connection: it has opened a session,
// where there are any, and called a tool.
func settle(c *load.Client, era load.Era, addr string) (load.Site, error) {
	to := load.Site{Addr: addr, Accept: load.AcceptBoth}
	if era.Sessions() {
		session, err := c.OpenSession(era, to)
		if err != nil {
			return to, err
		}
		to.Session = session
	}
	a, err := c.Do(era.Call("add", sample.AddCall).POST(to))
	if err == nil && a.Status != http.StatusOK {
		err = fmt.Errorf("status %d: %.300s", a.Status, a.Body)
	}
	to.Accept = load.AcceptSSE
	return to, err
}

// follow opens the stream of the client's revision.
func follow(c *load.Client, era load.Era, to load.Site) error {
	r := era.GET(to)
	if !era.Sessions() {
		to.Accept = load.AcceptBoth
		r = era.Listen().POST(to)
	}
	a, err := c.Stream(r)
	if err == nil && (a.Status != http.StatusOK || !a.SSE) {
		err = fmt.Errorf("no stream: status %d", a.Status)
	}
	return err
}

// settled gives the servers time to put away what they opened streams with: some do
// it when their first wait is over.
func settled(ctx context.Context) error {
	wait := time.NewTimer(time.Second)
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
