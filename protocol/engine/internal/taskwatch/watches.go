package taskwatch

import (
	"maps"
	"slices"
	"sync"

	"github.com/kagami-mcp/kagami/protocol/task"
)

// Watches is the set of tasks that requests (tasks/result) wait for. A task is in byID as long as at
// least one request watches it. Each change closes the channel of the task and makes a new one, under
// mu.
//
// A request owns one count in waiting, from Watch to Unwatch, and the questions that Claim has returned,
// until Release or until a later request claims them. It must release them before Unwatch. It calls
// Next before it reads the record, so that it does not miss a change that comes while it reads. mu is
// taken last and is held for a few steps.
type Watches struct {
	mu   sync.Mutex // guards the fields below and the elements of byID
	byID map[string]*watch
	last int // number of the last call of Watch
}

// watch is one task that at least one request waits for.
type watch struct {
	waiting int              // number of such requests
	changed chan struct{}    // closed by the next change
	asking  map[string]asker // by the keys of the questions that a request is asking the client
}

// asker is a request that asks the client a question.
type asker struct {
	turn     int    // the number that Watch returned
	withdraw func() // makes it withdraw the question
}

// Watch begins to watch a task. The caller must call Unwatch. Later calls return higher numbers.
func (s *Watches) Watch(id string) (turn int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.byID[id]
	if w == nil {
		if s.byID == nil {
			s.byID = make(map[string]*watch)
		}
		w = &watch{changed: make(chan struct{})}
		s.byID[id] = w
	}
	w.waiting++
	s.last++
	return s.last
}

// Unwatch reverses one call of Watch.
func (s *Watches) Unwatch(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.byID[id]; w.waiting > 1 {
		w.waiting--
		return
	}
	delete(s.byID, id)
}

// Next returns a channel that is closed by the next change of the task. The caller must be watching
// the task.
func (s *Watches) Next(id string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID[id].changed
}

// Wake makes the requests that watch the task read it again.
func (s *Watches) Wake(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.byID[id]; w != nil {
		close(w.changed)
		w.changed = make(chan struct{})
	}
}

// Claim returns the questions that no later request is asking the client, and marks them as asked by
// this one until Release. An earlier request that is asking one of them must withdraw it: its client may
// be gone. Claim calls its withdraw, which must not block. The caller must be watching the task.
func (s *Watches) Claim(id string, turn int, questions []task.Question, withdraw func()) (mine []task.Question) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.byID[id]
	if w.asking == nil {
		w.asking = make(map[string]asker)
	}
	for _, q := range questions {
		earlier, asked := w.asking[q.Key]
		if asked && earlier.turn >= turn {
			continue
		}
		if asked {
			earlier.withdraw()
		}
		w.asking[q.Key] = asker{turn, withdraw}
		mine = append(mine, q)
	}
	return mine
}

// Release lets other requests ask the client the question, if it is still open. It does nothing if a
// later request has claimed the question.
func (s *Watches) Release(id string, turn int, key string) {
	s.mu.Lock()
	w := s.byID[id]
	mine := w.asking[key].turn == turn
	if mine {
		delete(w.asking, key)
	}
	s.mu.Unlock()
	if mine {
		s.Wake(id)
	}
}

// IDs returns the ids of the watched tasks.
func (s *Watches) IDs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.byID))
}
