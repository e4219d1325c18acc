package protocol

import "encoding/json"

// Notification is any notification from the server, as a client hands it to its user.
type Notification struct {
	Method string
	Params json.RawMessage
}

// Progress is a notifications/progress.
type Progress struct {
	Done    float64
	Total   float64 // 0: unknown
	Message string
}

// LogMessage is a notifications/message.
type LogMessage struct {
	Level  string
	Logger string
	Data   json.RawMessage
}
