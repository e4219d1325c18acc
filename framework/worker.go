package framework

import (
	"context"
	"errors"

	"github.com/kagami-mcp/kagami/transport"
)

// Worker returns a transport for Serve in a process that only runs the tasks of a shared store, and
// does not serve clients. It returns an error if the store belongs to this process alone.
func (s *Server) Worker() (transport.Transport, error) {
	if s.sessions == nil && s.changes == nil {
		return nil, errors.New("a worker needs the store of the servers whose tasks it runs: add framework.WithStore")
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
