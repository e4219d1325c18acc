package engine

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestOutageAfterAPause: work that has rested since its last failure, such as a Take that waited for a task, has
// not failed all the time.
func TestOutageAfterAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var o outage
		away := errors.New("away")
		for range 2 {
			if err := o.attempted("taking a task", away); err == nil || err.Error() != "engine: taking a task: away" {
				t.Errorf("reported %v", err)
			}
			time.Sleep(3 * time.Hour)
		}
		over, ok := errors.AsType[*RecoveredError](o.attempted("taking a task", nil))
		if !ok || over.Lasted != 0 {
			t.Errorf("reported %+v", over)
		}
	})
}
