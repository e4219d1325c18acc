package protocol

import (
	"encoding/json"
	"time"
)

// Meta is a _meta object. Keys with the prefix io.modelcontextprotocol/ are reserved for the
// specification.
type Meta map[string]any

// Role is the speaker of a message, or an audience in an annotation.
type Role string

// The two roles of the specification.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Annotations are hints for the client.
type Annotations struct {
	Audience     []Role
	Priority     *float64  // 0 to 1
	LastModified time.Time // not sent if zero; 2025-06-18 on
}

// Icon is an image for a user interface (2025-11-25 on).
type Icon struct {
	Src      string   // an https or data URI
	MIMEType string   // not sent if empty
	Sizes    []string // "48x48" or "any"
	Theme    string   // "light", "dark" or empty
}

// Implementation describes a client or server program.
type Implementation struct {
	Name        string
	Title       string // 2025-06-18 on
	Version     string
	Description string // 2025-11-25 on
	WebsiteURL  string // 2025-11-25 on
	Icons       []Icon // 2025-11-25 on
}

// Root is a directory or file that the client lets the server work on.
type Root struct {
	URI  string
	Name string
	Meta Meta
}

// Block is one content block: Text, Image, Audio, Embedded, Link or Unknown. In sampling it may
// also be ToolUse or ToolResult. The interface is sealed: other packages cannot implement it.
type Block interface{ block() }

// Text is a text block.
type Text struct {
	Text        string
	Annotations *Annotations
	Meta        Meta
}

// Image is an image block. If MIME is empty, it is detected from Data.
type Image struct {
	Data        []byte
	MIME        string
	Annotations *Annotations
	Meta        Meta
}

// Audio is an audio block (2025-03-26 on). Clients of older revisions get a text block in its
// place, which says so. If MIME is empty, it is detected from Data.
type Audio struct {
	Data        []byte
	MIME        string
	Annotations *Annotations
	Meta        Meta
}

// Embedded is a block that contains a resource.
type Embedded struct {
	Contents    Contents
	Annotations *Annotations
	Meta        Meta
}

// Link is a link to a resource that the client may read (2025-06-18 on). Clients of older revisions
// get a text block with the URI.
type Link struct {
	URI         string
	Name        string
	Title       string
	Description string
	MIME        string
	Size        int64 // not sent if 0
	Icons       []Icon
	Annotations *Annotations
	Meta        Meta
}

// ToolUse is a model's request to call a tool (sampling with tools, 2025-11-25 on).
type ToolUse struct {
	ID    string
	Name  string
	Input json.RawMessage
	Meta  Meta
}

// ToolResult is the result of a ToolUse.
type ToolResult struct {
	ToolUseID  string
	Content    []Block
	Structured json.RawMessage // nil: not sent
	IsError    bool
	Meta       Meta
}

// Unknown is a block of a result whose type this package does not know, for example a type of a
// newer revision. Decoding returns it instead of an error. A server that passes one on sends a text
// block that names the type.
type Unknown struct {
	Type string
	Raw  json.RawMessage // the whole block
}

func (Text) block()       {}
func (Image) block()      {}
func (Audio) block()      {}
func (Embedded) block()   {}
func (Link) block()       {}
func (ToolUse) block()    {}
func (ToolResult) block() {}
func (Unknown) block()    {}

// Contents is one item of a resources/read result. It has Text or Data, never both.
type Contents struct {
	URI  string // if empty, the requested URI; in a block, a URI derived from the tool or prompt
	MIME string // if empty, "text/plain" for Text and detected for Data
	Text string
	Data []byte // if not nil, sent as a blob
	Meta Meta
}

// Message is one message of a prompt or of a sampling conversation.
type Message struct {
	Role    Role
	Content Block
	More    []Block // further blocks, in sampling only (2025-11-25 on)
	Meta    Meta    // in sampling only (2025-11-25 on)
}

// Blocks returns all blocks of the message, in order.
func (m Message) Blocks() []Block {
	if m.Content == nil {
		return m.More
	}
	return append([]Block{m.Content}, m.More...)
}
