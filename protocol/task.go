package protocol

import (
	"encoding/json"
	"time"
)

// TaskStatus is the state of a task.
type TaskStatus string

// The five states. Completed, failed and cancelled are terminal.
const (
	TaskWorking       TaskStatus = "working"
	TaskInputRequired TaskStatus = "input_required"
	TaskCompleted     TaskStatus = "completed"
	TaskFailed        TaskStatus = "failed"
	TaskCancelled     TaskStatus = "cancelled"
)

// Task is a task as its requestor sees it, in both designs of tasks.
type Task struct {
	ID           string
	Status       TaskStatus
	Message      string
	Created      time.Time
	Updated      time.Time
	TTL          *int64 // milliseconds; nil if unlimited, sent as null
	PollInterval int64  // milliseconds; not sent if 0
}

// DetailedTask is a task and the data that its status makes available (the tasks extension).
type DetailedTask struct {
	Task
	Result   json.RawMessage // set if the task is completed
	Error    *Error          // set if the task has failed
	Requests []InputRequest  // all unanswered questions
}

// CreateTaskResult is the result of a request that became a task.
type CreateTaskResult struct {
	Task              Task
	ImmediateResponse string // 2025-11-25: model-immediate-response; not sent if empty
	Meta              Meta
}

// TaskResult is the result of tasks/get, and of tasks/cancel on 2025-11-25.
type TaskResult struct {
	Task DetailedTask
	Meta Meta
}

// ListTasksResult is the result of tasks/list (2025-11-25). Next is the cursor of the next page, or
// nil on the last page.
type ListTasksResult struct {
	Tasks []Task
	Next  *string
	Meta  Meta
}

func (*CreateTaskResult) result() {}
func (*TaskResult) result()       {}
func (*ListTasksResult) result()  {}
