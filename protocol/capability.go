package protocol

import "encoding/json"

// ClientCapabilities are the capabilities that a client declares.
type ClientCapabilities struct {
	Elicitation      bool // form questions (2025-06-18 on)
	ElicitURL        bool // URL questions (2025-11-25 on)
	Sampling         bool
	SamplingTool     bool // sampling with tools (2025-11-25 on)
	SamplingContext  bool // sampling with includeContext (2025-11-25 on)
	Roots            bool
	RootsListChanged bool // handshake revisions
	Tasks            bool // tasks in the design of the revision: core on 2025-11-25, the extension on 2026-07-28
	TaskList         bool // 2025-11-25: tasks.list
	TaskCancel       bool // 2025-11-25: tasks.cancel
	TaskElicitation  bool // 2025-11-25: tasks.requests.elicitation.create
	TaskSampling     bool // 2025-11-25: tasks.requests.sampling.createMessage
	Extensions       map[string]json.RawMessage
	Experimental     map[string]json.RawMessage
}

// ServerCapabilities are the capabilities that a server declares.
type ServerCapabilities struct {
	Tools              bool
	ToolsListChanged   bool
	Resources          bool
	ResourcesSubscribe bool
	ResourcesChanged   bool
	Prompts            bool
	PromptsListChanged bool
	Completions        bool // 2025-03-26 on
	Logging            bool
	Tasks              bool // 2025-11-25: tools/call may become a task
	TaskList           bool
	TaskCancel         bool
	Extensions         map[string]json.RawMessage
	Experimental       map[string]json.RawMessage
}
