package jsonrpc

import "github.com/kagami-mcp/kagami/protocol/jsontext"

// Codes of JSON-RPC 2.0 §5.1.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
)

// Kind tells the four messages apart.
type Kind uint8

// The four kinds of messages.
const (
	Request Kind = iota + 1
	Notification
	Result
	Failure
)

// Message is one decoded message. Params is nil where it was absent.
type Message struct {
	Kind   Kind
	ID     ID
	Method string
	Params []byte
	Result []byte
	Error  *Error
}

// Error is an error as on the wire. Data is one JSON value, or nil.
type Error struct {
	Code    int
	Message string
	Data    []byte
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

// Fault says why a frame is no message.
type Fault struct {
	ID           ID   // zero where none could be read
	Notification bool // the frame was a notification or a response: it must not be answered
	Code         int
	Reason       string
}

// envelope holds the members of a frame as they were found.
type envelope struct {
	version, id, method, params, result, err []byte
}

// Decode understands one frame, which must have passed jsontext.Check.
func Decode(frame []byte) (Message, *Fault) {
	if jsontext.KindOf(frame) != jsontext.KindObject {
		return Message{}, &Fault{Code: CodeInvalidRequest, Reason: "a message is an object"}
	}
	var env envelope
	repeated := env.read(frame)
	f := &Fault{Code: CodeInvalidRequest}
	f.ID, f.Notification = env.addressee()
	if repeated != "" {
		f.Reason = "repeated member " + repeated
		return Message{}, f
	}
	if v, ok := jsontext.String(env.version); !ok || v != "2.0" {
		f.Reason = `jsonrpc must be "2.0"`
		return Message{}, f
	}
	if env.method == nil {
		return env.response(f)
	}
	return env.request(f)
}

// read collects the members; it names the first repeated one.
func (env *envelope) read(frame []byte) (repeated string) {
	for key, value := range jsontext.Members(frame) {
		var slot *[]byte
		switch {
		case key.Is("jsonrpc"):
			slot = &env.version
		case key.Is("id"):
			slot = &env.id
		case key.Is("method"):
			slot = &env.method
		case key.Is("params"):
			slot = &env.params
		case key.Is("result"):
			slot = &env.result
		case key.Is("error"):
			slot = &env.err
		default:
			continue
		}
		if *slot != nil && repeated == "" {
			repeated = key.String()
		}
		*slot = value
	}
	return repeated
}

// addressee says whom a fault of this frame would be answered to: nobody, if it
// looks like a notification or a response.
func (env *envelope) addressee() (id ID, nobody bool) {
	if env.id != nil {
		id, _ = ParseID(env.id)
	}
	if env.method != nil {
		return id, env.id == nil
	}
	return id, env.result != nil || env.err != nil
}

func (env *envelope) request(f *Fault) (Message, *Fault) {
	method, ok := jsontext.String(env.method)
	switch {
	case !ok || method == "":
		f.Reason = "method must be a non-empty string"
	case env.result != nil || env.err != nil:
		f.Reason = "a request has neither result nor error"
	case env.id != nil && f.ID.IsZero():
		f.Reason = "id must be a string or an integer"
	case env.params != nil && jsontext.KindOf(env.params) != jsontext.KindObject:
		f.Reason = "params must be an object"
	case env.id == nil:
		return Message{Kind: Notification, Method: method, Params: env.params}, nil
	default:
		return Message{Kind: Request, ID: f.ID, Method: method, Params: env.params}, nil
	}
	return Message{}, f
}

func (env *envelope) response(f *Fault) (Message, *Fault) {
	switch {
	case env.result == nil && env.err == nil:
		f.Reason = "a message has a method, a result or an error"
	case env.result != nil && env.err != nil:
		f.Reason = "a response has a result or an error, not both"
	case env.result != nil && f.ID.IsZero():
		f.Reason = "a result needs an id"
	case env.result != nil:
		return Message{Kind: Result, ID: f.ID, Result: env.result}, nil
	case env.id != nil && f.ID.IsZero() && jsontext.KindOf(env.id) != jsontext.KindNull:
		f.Reason = "id must be a string or an integer"
	default:
		e, reason := decodeError(env.err)
		if reason == "" {
			return Message{Kind: Failure, ID: f.ID, Error: e}, nil
		}
		f.Reason = reason
	}
	return Message{}, f
}

func decodeError(raw []byte) (*Error, string) {
	e := &Error{}
	var hasCode, hasMessage bool
	for key, value := range jsontext.Members(raw) {
		switch {
		case key.Is("code"):
			var n int64
			n, hasCode = jsontext.Int64(value)
			e.Code = int(n)
		case key.Is("message"):
			e.Message, hasMessage = jsontext.String(value)
		case key.Is("data"):
			e.Data = value
		}
	}
	if !hasCode || !hasMessage {
		return nil, "an error has an integer code and a message"
	}
	return e, ""
}

// IsBatch says whether the frame is an array.
func IsBatch(frame []byte) bool { return jsontext.KindOf(frame) == jsontext.KindArray }

// Batch splits an array into its messages; an empty one is a fault (JSON-RPC 2.0 §6).
func Batch(frame []byte) ([][]byte, *Fault) {
	var frames [][]byte
	for item := range jsontext.Elements(frame) {
		frames = append(frames, item)
	}
	if len(frames) == 0 {
		return nil, &Fault{Code: CodeInvalidRequest, Reason: "an empty batch"}
	}
	return frames, nil
}
