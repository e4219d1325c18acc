package protocol

import "encoding/json"

// Notification is any notification from the server, as a client passes it to the program that uses
// the client.
type Notification struct {
	Method string
	Params json.RawMessage
}

// Progress is the content of a notifications/progress notification.
type Progress struct {
	Done    float64
	Total   float64 // 0 if unknown
	Message string
}

// LogMessage is the content of a notifications/message notification.
type LogMessage struct {
	Level  string
	Logger string
	Data   json.RawMessage
}
