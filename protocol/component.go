package protocol

import "encoding/json"

// ToolAnnotations are the hints of a tool. A nil hint is not sent.
type ToolAnnotations struct {
	Title       string
	ReadOnly    *bool
	Destructive *bool
	Idempotent  *bool
	OpenWorld   *bool
}

// TaskSupport specifies whether a call of a tool may or must become a task.
type TaskSupport string

// The values of Tool.execution.taskSupport (2025-11-25). An empty TaskSupport means forbidden.
const (
	TaskForbidden TaskSupport = "forbidden"
	TaskOptional  TaskSupport = "optional"
	TaskRequired  TaskSupport = "required"
)

// Tool describes a tool as listed.
type Tool struct {
	Name         string
	Title        string
	Description  string
	InputSchema  json.RawMessage
	OutputSchema json.RawMessage // nil if the tool has none; 2025-06-18 on
	Annotations  ToolAnnotations // 2025-03-26 on
	TaskSupport  TaskSupport     // 2025-11-25 only
	Icons        []Icon
	Meta         Meta
}

// Resource describes a resource as listed.
type Resource struct {
	URI         string
	Name        string
	Title       string
	Description string
	MIME        string
	Size        int64 // not sent if 0
	Annotations *Annotations
	Icons       []Icon
	Meta        Meta
}

// ResourceTemplate describes a template as listed.
type ResourceTemplate struct {
	URITemplate string
	Name        string
	Title       string
	Description string
	MIME        string
	Annotations *Annotations
	Icons       []Icon
	Meta        Meta
}

// PromptArgument describes one argument of a prompt.
type PromptArgument struct {
	Name        string
	Title       string // 2025-06-18 on
	Description string
	Required    bool
}

// Prompt describes a prompt as listed.
type Prompt struct {
	Name        string
	Title       string
	Description string
	Arguments   []PromptArgument
	Icons       []Icon
	Meta        Meta
}

// Completion is the answer to a completion/complete request. It has at most 100 values.
type Completion struct {
	Values  []string
	Total   int // not sent if 0
	HasMore bool
}
