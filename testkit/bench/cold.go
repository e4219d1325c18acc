package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/kagami-mcp/kagami/testkit/bench/internal/load"
	"github.com/kagami-mcp/kagami/testkit/bench/internal/proc"
)

// cold measures from the start of a program to its answer to initialize, and the
// sizes of the programs.
func (b *bench) cold(ctx context.Context, id string, servers []server) error {
	b.begin(id)
	starts := 4 * b.rounds
	if b.few {
		starts = 2
	}
	for i := range starts {
		for _, j := range turnsOf(i, len(servers)) {
			s := servers[j]
			took, err := b.start(ctx, s)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", id, s.name, err)
			}
			b.results.add(id, s.name, metricTime, float64(took.Microseconds())/1e3)
		}
	}
	for _, s := range servers {
		info, err := os.Stat(b.program(s.program))
		if err != nil {
			return err
		}
		b.results.add(id, s.name, metricSize, float64(info.Size())/(1<<20))
	}
	return nil
}

func (b *bench) start(ctx context.Context, s server) (took time.Duration, err error) {
	initialize, _ := load.Handshake().Open()
	began := time.Now()
	p, err := proc.Stdio(ctx, b.program(s.program), s.env)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	driver, err := load.NewStdio(initialize, p.In, p.Out, 1, 0)
	if err != nil {
		return 0, err
	}
	err = within(p, late, func() error { _, err := driver.Sample(); return err })
	return time.Since(began), err
}
