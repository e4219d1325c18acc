package protocol

import "encoding/json"

// ToolAnnotations are the hints of a tool; nil means unsaid.
type ToolAnnotations struct {
	Title       string
	ReadOnly    *bool
	Destructive *bool
	Idempotent  *bool
	OpenWorld   *bool
}

// TaskSupport says whether a call may or must become a task.
type TaskSupport string

// The three modes of Tool.execution (2025-11-25). Empty means forbidden.
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
	OutputSchema json.RawMessage // nil: none; 2025-06-18 on
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
	Size        int64 // 0: not sent
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

// Completion answers completion/complete: at most 100 values.
type Completion struct {
	Values  []string
	Total   int // 0: not sent
	HasMore bool
}
