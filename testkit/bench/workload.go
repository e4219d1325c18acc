package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kagami-mcp/kagami/testkit/bench/internal/load"
	"github.com/kagami-mcp/kagami/testkit/bench/internal/proc"
	"github.com/kagami-mcp/kagami/testkit/bench/internal/target"
)

// workload is what some servers are asked on one carrier.
type workload struct {
	id      string
	servers []server // echoes come after those whose answers they repeat
	reports int      // of progress that belong to an answer
	start   func(ctx context.Context, program string, env []string, args ...string) (*proc.Process, error)
	meet    func(e *entrant) (load.Answer, error) // readies a server that runs for rounds, and has it answer once
}

// measure starts all servers of a workload, has each answer once, and then take turns.
func (b *bench) measure(ctx context.Context, w workload) (err error) {
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
		p, err := w.start(ctx, b.program(s.program), b.environment(w.id, s))
		if err != nil {
			return fmt.Errorf("%s, %s: %w", w.id, s.name, err)
		}
		e := &entrant{server: s, process: p}
		entrants = append(entrants, e)
		if err := within(p, late, func() error { return answered.compare(w.meet(e)) }); err != nil {
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
