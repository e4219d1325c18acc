package engine

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// outage keeps work that is repeated from filling the log: while a store is away, an attempt may fail
// every second, for hours. It lets through the first failure, then one a minute, and the first success
// after them.
type outage struct {
	mu       sync.Mutex // guards the fields below
	began    time.Time  // the first failure in a row; zero: the last attempt has succeeded
	last     time.Time  // the last failure
	reported time.Time  // the last failure that was let through, also of an earlier row
	open     bool       // a failure of this row was let through
}

// outagePause is the least time between two reports of failures.
const outagePause = time.Minute

// attempted records an attempt at work that has ended with err, which may be nil. It returns the error
// to report, or nil.
func (o *outage) attempted(work string, err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	if err == nil {
		over, lasted := o.open, o.last.Sub(o.began)
		if o.began, o.open = (time.Time{}), false; !over {
			return nil
		}
		return &RecoveredError{Work: work, Lasted: lasted}
	}
	if o.began.IsZero() || now.Sub(o.last) > outagePause { // Take returns late if there is no task
		o.began = now
	}
	o.last = now
	if !o.reported.IsZero() && now.Sub(o.reported) < outagePause {
		return nil
	}
	o.reported, o.open = now, true
	if lasted := now.Sub(o.began).Round(time.Second); lasted > 0 {
		return fmt.Errorf("engine: %s has failed for %s: %w", work, lasted, err)
	}
	return fmt.Errorf("engine: %s: %w", work, err)
}

// attempted reports the outcome of work that is repeated. err may be nil. See failed for the locks that
// must not be held.
func (e *Engine) attempted(ctx context.Context, o *outage, work string, err error) {
	if report := o.attempted(work, err); report != nil {
		e.failed(ctx, nil, report)
	}
}
