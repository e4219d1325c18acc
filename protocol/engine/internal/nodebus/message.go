package nodebus

import "encoding/json"

// Kind is the kind of a message between nodes.
type Kind string

// The kinds of messages. Their texts are on the bus.
const (
	Task        Kind = "task"    // the record of Task has changed
	Updated     Kind = "updated" // the resource URI has changed; feed.Hub.Learned returned Version
	Frame       Kind = "frame"   // Frame came from the client of Session; a node may wait for it
	Notify      Kind = "notify"  // Frame must be sent to the client of Session
	Roots       Kind = "roots"   // the roots of the client of Session have changed
	Kept        Kind = "kept"    // the stored state of Session is now Frame, at Version
	Elicitation Kind = "visited" // the page of the elicitation with the id Visit is done
	Lost        Kind = "lost"    // the node has lost messages before they were on the bus
)

// Message is a message between the nodes that share a store. It names something that has changed, or
// contains a frame to process. Messages may be lost, so receivers also poll for what they must not
// miss. When a node detects a loss, it treats everything that a message can announce as changed.
type Message struct {
	Kind    Kind            `json:"engine"` // a bus also carries messages of other senders
	Node    string          `json:"node"`
	Task    string          `json:"task,omitempty"`
	Session string          `json:"session,omitempty"`
	URI     string          `json:"uri,omitempty"`
	Visit   string          `json:"visit,omitempty"`
	Frame   json.RawMessage `json:"frame,omitempty"`
	Version uint64          `json:"version,omitempty"`
}
