package jsonrpc

import "github.com/kagami-mcp/kagami/protocol/jsontext"

// Error codes of JSON-RPC 2.0 §5.1.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
)

// Kind is the kind of a message.
type Kind uint8

// The four kinds of messages. A Failure is an error response.
const (
	Request Kind = iota + 1
	Notification
	Result
	Failure
)

// Message is one decoded message. Only the fields of its kind are set. Params is nil if the member
// was absent.
type Message struct {
	Kind   Kind
	ID     ID
	Method string
	Params []byte
	Result []byte
	Error  *Error

	// Body is Params as an Object. After DecodeObject it is valid as long as the frame's outline.
	Body jsontext.Object
}

// Error is an error in its wire form. Data is one JSON value, or nil.
type Error struct {
	Code    int
	Message string
	Data    []byte
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Fault describes why a frame is not a valid message.
type Fault struct {
	ID           ID   // zero if the frame has no readable id
	Notification bool // the frame looks like a notification or a response, so it must not be answered
	Code         int
	Reason       string
}

// envelope holds the members of a frame. Absent members are nil.
type envelope struct {
	version, id, method, params, result, err []byte
	repeated, repeatedID                     bool

	body jsontext.Object          // params, with the outline of the frame
	name func(text []byte) string // returns a method's name; if nil, the text is copied
}

// Decode decodes one frame, which must have passed jsontext.Check. If the frame is not a valid
// message, Decode returns a zero Message and a Fault with CodeInvalidRequest.
func Decode(frame []byte) (Message, *Fault) {
	return DecodeObject(jsontext.Bare(frame), nil)
}

// DecodeObject is like Decode, but uses the outline of a frame to avoid scanning the frame again.
// name returns a method's text as a string. A caller that knows the usual methods can thus avoid a
// copy. If name is nil, the text is copied.
func DecodeObject(frame jsontext.Object, name func(text []byte) string) (Message, *Fault) {
	if jsontext.KindOf(frame.Raw()) != jsontext.KindObject {
		return Message{}, &Fault{Code: CodeInvalidRequest, Reason: "a message is an object"}
	}
	env := envelope{name: name}
	env.read(frame)
	if jsontext.KindOf(env.params) == jsontext.KindNull || jsontext.IsEmptyArray(env.params) {
		env.params, env.body = nil, jsontext.Object{} // some clients send null or [] instead of no params (ADR 8)
	}
	env.dropNulls()
	id, unanswered := env.addressee()
	m, reason := env.message(id)
	if reason != "" {
		return Message{}, &Fault{ID: id, Notification: unanswered, Code: CodeInvalidRequest, Reason: reason}
	}
	m.Body = env.body
	return m, nil
}

// dropNulls removes null members that the message does not use. Programs with one type for all
// messages write them (ADR 8).
func (env *envelope) dropNulls() {
	if jsontext.KindOf(env.method) == jsontext.KindNull && (env.result != nil || env.err != nil) {
		env.method = nil
	}
	if jsontext.KindOf(env.err) == jsontext.KindNull && (env.result != nil || env.method != nil) {
		env.err = nil
	}
	if jsontext.KindOf(env.result) == jsontext.KindNull && (env.err != nil || env.method != nil) {
		env.result = nil
	}
}

// read collects the members and does not check their values, because the id for a fault's response
// may be the last member.
func (env *envelope) read(frame jsontext.Object) {
	var ignored map[string]struct{}
	for key, value := range frame.Inners() {
		slot := env.slot(key)
		if slot == nil {
			// Unknown members must not be repeated either, because another reader
			// of the same frame may know them.
			if ignored == nil {
				ignored = make(map[string]struct{})
			}
			before := len(ignored)
			ignored[key.String()] = struct{}{}
			env.repeated = env.repeated || len(ignored) == before
			continue
		}
		if *slot != nil {
			env.repeated = true
			env.repeatedID = env.repeatedID || slot == &env.id
		}
		if *slot = value.Raw(); slot == &env.params {
			env.body = value
		}
	}
}

// slot returns the field of the member key, or nil if the member is not known.
func (env *envelope) slot(key jsontext.Key) *[]byte {
	switch string(key.Bytes()) {
	case "jsonrpc":
		return &env.version
	case "id":
		return &env.id
	case "method":
		return &env.method
	case "params":
		return &env.params
	case "result":
		return &env.result
	case "error":
		return &env.err
	}
	return nil
}

// addressee returns the id for the response to a fault of this frame. unanswered is true if the frame
// looks like a notification or a response, which must not be answered. If the id is repeated, no id
// is returned.
func (env *envelope) addressee() (id ID, unanswered bool) {
	if !env.repeatedID {
		id, _ = ParseID(env.id)
	}
	if env.method != nil {
		return id, env.id == nil
	}
	return id, env.result != nil || env.err != nil
}

func (env *envelope) message(id ID) (m Message, reason string) {
	if env.repeated {
		return m, "a member of the message is repeated"
	}
	if version, ok := jsontext.Text(env.version); !ok || string(version) != "2.0" {
		return m, `jsonrpc must be "2.0"`
	}
	if env.method == nil {
		return env.response(id)
	}
	return env.request(id)
}

// methodName returns the text of the member method, and false if it is not a string.
func (env *envelope) methodName() (string, bool) {
	text, ok := jsontext.Text(env.method)
	if env.name == nil || !ok {
		return string(text), ok
	}
	return env.name(text), true
}

func (env *envelope) request(id ID) (m Message, reason string) {
	method, ok := env.methodName()
	switch {
	case !ok || method == "":
		return m, "method must be a non-empty string"
	case env.result != nil || env.err != nil:
		return m, "a request has neither result nor error"
	case env.id != nil && id.IsZero():
		return m, "id must be a string or an integer of at most 1024 bytes"
	case env.params != nil && jsontext.KindOf(env.params) != jsontext.KindObject:
		return m, "params must be an object"
	case env.id == nil:
		return Message{Kind: Notification, Method: method, Params: env.params}, ""
	}
	return Message{Kind: Request, ID: id, Method: method, Params: env.params}, ""
}

func (env *envelope) response(id ID) (m Message, reason string) {
	switch {
	case env.result == nil && env.err == nil:
		return m, "a message has a method, a result or an error"
	case env.result != nil && env.err != nil:
		return m, "a response has a result or an error, not both"
	case env.result != nil && id.IsZero():
		return m, "a result needs an id, a string or an integer"
	case env.result != nil:
		return Message{Kind: Result, ID: id, Result: env.result}, ""
	case env.id != nil && id.IsZero() && jsontext.KindOf(env.id) != jsontext.KindNull:
		return m, "id must be a string or an integer of at most 1024 bytes"
	}
	e, reason := decodeError(env.err)
	if reason != "" {
		return m, reason
	}
	return Message{Kind: Failure, ID: id, Error: e}, ""
}

func decodeError(raw []byte) (*Error, string) {
	var code, message, data []byte
	for key, value := range jsontext.Members(raw) {
		var slot *[]byte
		switch {
		case key.Is("code"):
			slot = &code
		case key.Is("message"):
			slot = &message
		case key.Is("data"):
			slot = &data
		default:
			continue
		}
		if *slot != nil {
			return nil, "a member of the error is repeated"
		}
		*slot = value
	}
	number, hasCode := jsontext.Int64(code)
	text, hasMessage := jsontext.String(message)
	if !hasCode || !hasMessage || int64(int(number)) != number {
		return nil, "an error has an integer code and a message"
	}
	return &Error{Code: int(number), Message: text, Data: data}, ""
}

// IsBatch reports whether the frame is an array.
func IsBatch(frame []byte) bool { return jsontext.KindOf(frame) == jsontext.KindArray }

// Batch returns the messages of a batch, which is an array. It returns a Fault if the array is
// empty (JSON-RPC 2.0 §6).
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
