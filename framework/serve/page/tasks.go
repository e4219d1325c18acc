package page

import (
	"errors"
	"net/http"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// mostTasks is the maximum number of tasks in one answer.
const mostTasks = 200

// taskListed is a task in the server's list. Any client of the principal may have started it.
type taskListed struct {
	ID      string    `json:"id"`
	Status  string    `json:"status"`
	Message string    `json:"message,omitempty"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	TTL     *int64    `json:"ttlMs"` // nil if the task does not expire
	Over    bool      `json:"over"`  // the task has a result, or will never have one
}

// getTasks answers with the tasks in the server's list, including tasks of earlier connections of
// the same principal. If the server or the revision has no such list, listed is false.
func (p *Page) getTasks(w http.ResponseWriter, r *http.Request, s *session) error {
	tasks := []taskListed{}
	for t, err := range s.client.Tasks(r.Context()) {
		if errors.Is(err, client.ErrNoTasks) {
			return write(w, map[string]any{"listed": false, "tasks": tasks})
		}
		if err != nil {
			p.failed(s, err)
			return err
		}
		over := t.Status != protocol.TaskWorking && t.Status != protocol.TaskInputRequired
		tasks = append(tasks, taskListed{t.ID, string(t.Status), t.Message, t.Created, t.Updated, t.TTL, over})
		if len(tasks) == mostTasks {
			break
		}
	}
	return write(w, map[string]any{"listed": true, "tasks": tasks})
}

// deleteTask cancels a task.
func (p *Page) deleteTask(w http.ResponseWriter, r *http.Request, s *session) error {
	if err := s.client.Task(r.PathValue("id")).Cancel(r.Context()); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
