package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kagami-mcp/kagami/testkit/bench/internal/load"
	"github.com/kagami-mcp/kagami/testkit/bench/internal/proc"
	"github.com/kagami-mcp/kagami/testkit/bench/internal/target"
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
func (b *bench) web(ctx context.Context, w webLoad) (err error) {
	b.begin(w.id)
	var entrants []*entrant
	defer func() { err = errors.Join(err, stopAll(entrants)) }()
	var answered sampled
	for _, s := range w.servers {
		if s.echo {
			if s, err = b.repeat(s, answered.first, w.reports > 0); err != nil {
				return err
			}
		}
		p, err := proc.HTTP(ctx, b.program(s.program), b.environment(w.id, s))
		if err != nil {
			return err
		}
		e := &entrant{server: s, process: p}
		entrants = append(entrants, e)
		to, err := w.site(p.Addr, s)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", w.id, s.name, err)
		}
		driver := load.NewHTTP(w.message, to, w.connections, w.reports)
		e.run, e.close = driver.Run, driver.Close
		if err := answered.compare(driver.Sample()); err != nil {
			return fmt.Errorf("%s, %s: %w", w.id, s.name, err)
		}
	}
	return b.turns(ctx, w.id, entrants, max(1, w.reports))
}

// repeat has an echo answer what was answered.
func (b *bench) repeat(s server, a *load.Answer, closing bool) (server, error) {
	kind := "application/json"
	if a.SSE {
		kind = "text/event-stream"
	}
	path := filepath.Join(b.scratch, "sample")
	s = s.with(target.SampleVar+"="+path, target.KindVar+"="+kind)
	if closing {
		s = s.with(target.CloseVar + "=1")
	}
	return s, os.WriteFile(path, a.Body, 0o600)
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
