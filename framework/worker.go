package framework

import (
	"context"
	"errors"

	"github.com/kagami-mcp/kagami/transport"
)

// Worker returns a transport for Serve in a process that only runs the tasks of a shared store, and
// does not serve clients. If the server has no store with a task.Queue, or [WithTaskWorkers] is 0,
// Worker returns an error.
func (s *Server) Worker() (transport.Transport, error) {
	switch {
	case s == nil || s.queue == nil:
		return nil, errors.New("a worker needs a store with a task.Queue, shared with the servers: add framework.WithStore, or start it with --store redis://HOST:PORT/DB")
	case s.cfg.tasks.Workers < 0:
		return nil, errors.New("a worker runs tasks, but WithTaskWorkers is 0")
	}
	return idle{}, nil
}

// idle is the transport that Worker returns.
type idle struct{}

// Serve waits until ctx ends.
func (idle) Serve(ctx context.Context, _ transport.Host) error {
	<-ctx.Done()
	return nil
}
