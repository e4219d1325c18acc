package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/kagami-mcp/kagami/protocol/task"
)

// unread reports a task that could not be read. An unreadable task is reported only once.
func (e *Engine) unread(ctx context.Context, id string, err error) {
	if !errors.Is(err, task.ErrUnreadable) {
		e.failed(ctx, nil, fmt.Errorf("engine: reading a task: %w", err))
	} else if n := e.unreadable.First(id); n > 0 {
		e.passedOver(ctx, id, n, err)
	}
}

// leftOut reports a task that a list leaves out because it is unreadable. The list does not contain
// the reason, so leftOut reads the task to get it.
func (e *Engine) leftOut(ctx context.Context, id string) {
	n := e.unreadable.First(id)
	if n == 0 {
		return
	}
	_, err := e.cfg.Tasks.Get(ctx, id)
	if err == nil {
		err = fmt.Errorf("%w: its status is unknown", task.ErrUnreadable)
	}
	e.passedOver(ctx, id, n, err)
}

// passedOver reports an unreadable task with its id. The id of a task without an owner is otherwise a
// secret, but an unreadable task cannot be fetched with it.
func (e *Engine) passedOver(ctx context.Context, id string, n int, err error) {
	e.failed(ctx, nil, fmt.Errorf("engine: the task %s is left out until it expires, the store cannot read it (%d such tasks so far): %w", id, n, err))
}
