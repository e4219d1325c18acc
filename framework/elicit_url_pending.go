package framework

import (
	"context"
	"fmt"
	"sync"

	"github.com/kagami-mcp/kagami/protocol"
)

// ElicitationComplete notifies the client that the page of ElicitURL or URLRequired is done. Only
// the client that was sent to the page gets the notification (2025-11-25 client/elicitation). If
// the id is unknown, or the client's revision has no such notification, ElicitationComplete does
// nothing. It returns an error if sending fails. If processes share a store (see [Store]), any of
// them may call it: the process that asked notifies the client.
func (s *Server) ElicitationComplete(ctx context.Context, id string) error {
	if s == nil {
		return nil
	}
	send := s.elicitations.take(id)
	if send == nil {
		if s.engine != nil {
			s.engine.ElicitationComplete(id)
		}
		return nil
	}
	if err := send(ctx, &protocol.ElicitationCompleteParams{ID: id}); err != nil {
		return fmt.Errorf("notifying the client that the elicitation is complete: %w", err)
	}
	return nil
}

// notifier sends a notification to a session.
type notifier = func(ctx context.Context, p protocol.Params) error

// maxVisits is the number of pages that a server waits for. When there are more, it forgets the
// oldest. Their clients are not notified, and find out by calling again.
const maxVisits = 4096

// urlElicitations holds a notifier for each elicitation whose page is not done, by the id of the
// elicitation. ElicitURL and URLRequired add notifiers. ElicitationComplete, or the same call on
// another node, takes them. All methods may be called concurrently. The zero value is ready for
// use.
type urlElicitations struct {
	mu    sync.Mutex          // guards the fields below
	known map[string]notifier // nil until add
	order []string            // the ids, oldest first, including ids that were taken
}

// add stores the notifier for the id. If send is nil, add does nothing.
func (v *urlElicitations) add(id string, send notifier) {
	if send == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.known == nil {
		v.known = make(map[string]notifier)
	}
	if _, again := v.known[id]; !again {
		v.order = append(v.order, id)
	}
	v.known[id] = send
	for len(v.order) > maxVisits {
		delete(v.known, v.order[0])
		v.order = v.order[1:]
	}
}

// take removes and returns the notifier for the id, or nil.
func (v *urlElicitations) take(id string) notifier {
	v.mu.Lock()
	defer v.mu.Unlock()
	send := v.known[id]
	delete(v.known, id)
	return send
}
