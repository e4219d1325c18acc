package client

import "sync"

// workers is a group of goroutines. The owner of the group waits for all of them before it ends.
type workers struct {
	mu     sync.Mutex     // guards the fields below
	joined bool           // no goroutine starts any more
	group  sync.WaitGroup // guarded by mu, because Add must not follow Wait
}

// spawn runs fn in a goroutine that join waits for. After join it returns ErrClosed and does not run
// fn.
func (w *workers) spawn(fn func()) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.joined {
		return ErrClosed
	}
	w.group.Go(fn)
	return nil
}

// join waits for all goroutines. It may be called several times.
func (w *workers) join() {
	w.mu.Lock()
	w.joined = true
	w.mu.Unlock()
	w.group.Wait()
}
