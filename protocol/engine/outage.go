package engine

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// outage keeps repeated work from filling the log. While a store is unavailable, an attempt may
// fail every second, for hours. outage lets through the first failure, then one failure a minute,
// and the first success after them.
type outage struct {
	mu       sync.Mutex // guards the fields below
	began    time.Time  // the first of the current failures; zero: the last attempt has succeeded
	last     time.Time  // the last failure
	reported time.Time  // the last failure that was let through, in this outage or an earlier one
	open     bool       // a failure of the current outage was let through
}

// outagePause is the minimum time between two reported failures.
const outagePause = time.Minute

// attempted records that an attempt at the work has ended with err, or has succeeded if err is nil.
// It returns the error to report, or nil.
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

// attempted reports the outcome of repeated work. err may be nil. See failed for the locks that the
// caller must not hold.
func (e *Engine) attempted(ctx context.Context, o *outage, work string, err error) {
	if report := o.attempted(work, err); report != nil {
		e.failed(ctx, nil, report)
	}
}
