package main

import (
	"context"
	"errors"
	"strings"

	"github.com/kagami-mcp/kagami/testkit/bench/internal/load"
	"github.com/kagami-mcp/kagami/testkit/bench/internal/proc"
)

// webLoad is a workload over HTTP.
type webLoad struct {
	id          string
	era         load.Era
	message     load.Message
	accept      string
	connections int
	reports     int // of progress that belong to an answer
	servers     []server
}

// web measures one workload.
func (b *bench) web(ctx context.Context, w webLoad) error {
	return b.measure(ctx, workload{w.id, w.servers, w.reports, proc.HTTP, w.meet})
}

// meet makes the connections to a server.
func (w *webLoad) meet(e *entrant) (load.Answer, error) {
	to, err := w.site(e.process.Addr, e.server)
	if err != nil {
		return load.Answer{}, err
	}
	driver := load.NewHTTP(w.message, to, w.connections, w.reports)
	e.run, e.close = driver.Run, driver.Close
	return driver.Sample()
}

// site opens a session, where the revision has them. Who wants streams of a peer must
// not say so: the Go SDK demands that both are accepted, and has a mode.
func (w *webLoad) site(addr string, s server) (load.Site, error) {
	to := load.Site{Addr: addr, Accept: load.AcceptBoth}
	if w.era.Sessions() {
		c := load.NewClient(addr)
		session, err := c.OpenSession(w.era, to)
		if err := errors.Join(err, c.Close()); err != nil {
			return to, err
		}
		to.Session = session
	}
	if s.program == kagami.program {
		to.Accept = w.accept
	}
	return to, nil
}

// modeOf is how the Go SDK is started for a workload.
func modeOf(era load.Era, accept string) string {
	var words []string
	if accept != load.AcceptSSE {
		words = append(words, "json")
	}
	if !era.Sessions() {
		words = append(words, "stateless")
	}
	return "BENCH_MODE=" + strings.Join(words, ",")
}
