package protocol

import (
	"encoding/json"
	"time"
)

// TaskStatus is the state of a task.
type TaskStatus string

// The five states; the last three are terminal.
const (
	TaskWorking       TaskStatus = "working"
	TaskInputRequired TaskStatus = "input_required"
	TaskCompleted     TaskStatus = "completed"
	TaskFailed        TaskStatus = "failed"
	TaskCancelled     TaskStatus = "cancelled"
)

// Task is a task as its requestor sees it, in both designs.
type Task struct {
	ID           string
	Status       TaskStatus
	Message      string
	Created      time.Time
	Updated      time.Time
	TTL          *int64 // milliseconds; nil: unlimited, sent as null
	PollInterval int64  // milliseconds; 0: not sent
}

// DetailedTask is a task with what its status makes available (the tasks extension).
type DetailedTask struct {
	Task
	Result   json.RawMessage // of a completed task
	Error    *Error          // of a failed one
	Requests []InputRequest  // all outstanding questions
}

// CreateTaskResult answers a request that became a task.
type CreateTaskResult struct {
	Task              Task
	ImmediateResponse string // 2025-11-25: model-immediate-response; empty: not sent
	Meta              Meta
}

// TaskResult answers tasks/get, and on 2025-11-25 tasks/cancel.
type TaskResult struct {
	Task DetailedTask
	Meta Meta
}

// ListTasksResult answers tasks/list (2025-11-25).
type ListTasksResult struct {
	Tasks []Task
	Next  *string
	Meta  Meta
}

func (*CreateTaskResult) result() {}
func (*TaskResult) result()       {}
func (*ListTasksResult) result()  {}
