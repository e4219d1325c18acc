package framework

import (
	"context"
	"errors"

	"github.com/kagami-mcp/kagami/transport"
)

// Worker returns the carrier, for Serve, of a process that runs the tasks of its store and
// serves no client. The error says that the store belongs to this process alone.
func (s *Server) Worker() (transport.Transport, error) {
	if s.sessions == nil && s.changes == nil {
		return nil, errors.New("a worker needs the store in which servers leave their tasks: add framework.WithStore")
	}
	return idle{}, nil
}

type idle struct{}

// Serve waits until ctx ends.
func (idle) Serve(ctx context.Context, _ transport.Host) error {
	<-ctx.Done()
	return nil
}
