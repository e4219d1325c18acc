package testkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Call calls a tool by its handle, under any name that it is registered with. The tool's own plan
// encodes the arguments and the result. Therefore time.Duration, sum types and exact numbers have
// the handler's values. [CallAs] and [ReadAs] compile a plan of the type for the same reason. A
// tool error is an *Error.
func Call[In, Out any](s *Session, tool *framework.ToolOf[In, Out], in In) (Out, error) {
	s.t.Helper()
	var none Out
	name := nameOf(s, tool)
	arguments, err := tool.Encode(in)
	if err != nil {
		return none, err
	}
	result, err := s.called(name, arguments)
	if err != nil {
		return none, err
	}
	return tool.Decode(result)
}

// nameOf returns the name of the tool in the server, or under Chaos in the latest server.
func nameOf[In, Out any](s *Session, tool *framework.ToolOf[In, Out]) string {
	s.t.Helper()
	if tool == nil {
		s.t.Fatalf("testkit: %v", errNoTool)
	}
	name, ok := s.testServer.server.NameOf(tool)
	if c := s.chaos.Load(); !ok && c != nil && c.latest.Load() != nil {
		name, ok = c.latest.Load().NameOf(tool)
	}
	if !ok {
		s.t.Fatalf("testkit: the server does not have the tool %q%s", tool.Name(), namesake(s.testServer.server, tool.Name()))
	}
	return name
}

// namesake returns an explanation for a message if the server has a tool with the name from another
// handle. Then the test has made the handle twice.
func namesake(server *framework.Server, name string) string {
	if !slices.ContainsFunc(server.Inspect().Components, func(c framework.Inspected) bool { return c.Kind == "tool" && c.Name == name }) {
		return ""
	}
	return ": its tool of that name was made by another call of framework.Tool; give the handle that the app has, or use CallAs"
}

// CallAs calls a tool by its listed name. in is any value that encodes to an object, or JSON as
// json.RawMessage; nil sends no arguments.
//
// If the result has interfaces of the app's OneOf, use [Call] with the handle of the tool. An Out
// that has any in their place also works.
func CallAs[Out any](s *Session, name string, in any) (Out, error) {
	s.t.Helper()
	var none Out
	var arguments json.RawMessage
	if in != nil {
		var err error
		if arguments, err = encode(in); err != nil {
			return none, fmt.Errorf("testkit: encoding the arguments of %s: %w", name, err)
		}
	}
	result, err := s.called(name, arguments)
	if err != nil {
		return none, err
	}
	out, err := framework.DecodeResult[Out](result)
	if err != nil {
		return none, fmt.Errorf("testkit: the result of %s as %T: %w", name, none, err)
	}
	return out, nil
}

// called calls a tool and returns its result. An isError result is also an error.
func (s *Session) called(name string, arguments json.RawMessage) (*protocol.CallToolResult, error) {
	s.t.Helper()
	a := s.call(name, arguments)
	if err := a.failure(); err != nil {
		return nil, err
	}
	result, ok := a.result.(*protocol.CallToolResult)
	if !ok {
		return nil, fmt.Errorf("testkit: %s was answered with a %T", name, a.result)
	}
	result.Wrapped = s.config.dialect.Handshake() // see framework.DecodeResult
	return result, nil
}

// ReadAs reads a JSON resource.
func ReadAs[T any](s *Session, uri string) (T, error) {
	s.t.Helper()
	var none T
	a := s.Read(uri)
	if err := a.failure(); err != nil {
		return none, err
	}
	read, _ := a.result.(*protocol.ReadResourceResult)
	if read == nil || len(read.Contents) != 1 || read.Contents[0].Data != nil {
		return none, fmt.Errorf("testkit: %s is not one text: %s", uri, a.got())
	}
	v, err := framework.DecodeJSON[T](json.RawMessage(read.Contents[0].Text))
	if err != nil {
		return none, fmt.Errorf("testkit: %s as %T: %w", uri, none, err)
	}
	return v, nil
}

// CallRaw calls a tool with JSON arguments; "" sends none. The arguments must be JSON, but need not
// be an object.
func (s *Session) CallRaw(name, arguments string) *Answer {
	s.t.Helper()
	return s.call(name, s.checked(name, arguments))
}

// checked returns the arguments. It ends the test if they are not JSON.
func (s *Session) checked(name, arguments string) json.RawMessage {
	s.t.Helper()
	if arguments != "" {
		if err := jsontext.Check([]byte(arguments), jsontext.Limits{}); err != nil {
			s.t.Fatalf("testkit: calling %q: the arguments are not JSON (%v): use Raw to send them anyway: %s", name, err, arguments)
		}
	}
	return json.RawMessage(arguments)
}

func (s *Session) call(name string, arguments json.RawMessage) *Answer {
	s.t.Helper()
	return s.ask(protocol.MethodCallTool, s.callParams(name, arguments))
}

func (s *Session) callParams(name string, arguments json.RawMessage) json.RawMessage {
	params := appendMember([]byte("{"), "name", jsontext.Quote(nil, name))
	if len(arguments) > 0 {
		params = appendMember(params, "arguments", arguments)
	}
	return append(params, '}')
}

// Read reads a resource.
func (s *Session) Read(uri string) *Answer {
	s.t.Helper()
	params := appendMember([]byte("{"), "uri", jsontext.Quote(nil, uri))
	return s.ask(protocol.MethodReadResource, append(params, '}'))
}

// Get gets a prompt.
func (s *Session) Get(name string, args map[string]string) *Answer {
	s.t.Helper()
	params := appendMember([]byte("{"), "name", jsontext.Quote(nil, name))
	if args != nil {
		raw, err := json.Marshal(args)
		if err != nil {
			s.t.Fatalf("testkit: the arguments of prompt %s: %v", name, err)
		}
		params = appendMember(params, "arguments", raw)
	}
	return s.ask(protocol.MethodGetPrompt, append(params, '}'))
}

func appendMember(dst []byte, name string, value []byte) []byte {
	if len(dst) > 1 {
		dst = append(dst, ',')
	}
	dst = append(jsontext.Quote(dst, name), ':')
	return append(dst, value...)
}

// ask sends one request, and asks for progress.
func (s *Session) ask(method string, params json.RawMessage) *Answer {
	s.t.Helper()
	if c := s.chaos.Load(); c != nil {
		return c.call(method, params)
	}
	ctx, cancel := s.bounded()
	defer cancel()
	raw, err := s.client.Request(ctx, method, params, client.OnProgress(s.progressed), client.InRounds())
	return s.answer(method, params, raw, err)
}

// answer makes an Answer of the outcome of a request. It ends the test if the server has not
// answered, or if the script has no answer to a question.
func (s *Session) answer(method string, params, raw json.RawMessage, err error) *Answer {
	s.t.Helper()
	a := &Answer{t: s.t, dialect: s.config.dialect, sent: fmt.Sprintf("%s %s", method, params), raw: raw, err: err}
	s.asked()
	switch a.refused = asError(err); {
	case err == nil:
		a.decode(method)
		if result, ok := a.result.(*protocol.CallToolResult); ok {
			quoted, _ := jsontext.Member(params, "name")
			name, _ := jsontext.String(quoted)
			s.fits(s.config.dialect, name, result)
		}
	case a.refused == nil:
		s.t.Fatalf("testkit: %s\nsent: %s\ngot:  %v", s.noAnswer(err), a.sent, err)
	}
	return a
}

// testOver explains why calls are not possible in t.Cleanup.
const testOver = "the test is over, and t.Cleanup comes after the end of its context; make calls before that, by defer"

// noAnswer returns the reason why a request has no answer, for a message.
func (s *Session) noAnswer(err error) string {
	if s.t.Context().Err() != nil {
		return "no answer: " + testOver
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("no answer within %v", s.config.timeout)
	}
	return "no answer"
}

// Raw sends one JSON-RPC frame as it is and returns the answer. The answer is the response with the
// frame's id, or a response without an id if the server could not read the frame. A notification
// has an empty answer. On revisions without a handshake, the frame must contain its own _meta.
// Tests may use ids up to 1000.
func (s *Session) Raw(frame string) *Answer {
	s.t.Helper()
	ctx, cancel := s.bounded()
	defer cancel()
	a := &Answer{t: s.t, dialect: s.config.dialect, sent: frame}
	answer, err := s.client.Exchange(ctx, []byte(frame))
	if err != nil {
		s.t.Fatalf("testkit: %s\nsent: %s\ngot:  %v", s.noAnswer(err), frame, err)
		return a
	}
	a.frame(frame, answer)
	return a
}

// dialectOf returns the dialect that a raw request names, or else the session's dialect.
func dialectOf(params []byte, session *dialect.Dialect) *dialect.Dialect {
	version, claimed := dialect.Peek(params)
	if d, ok := dialect.PerRequest(version); claimed && ok {
		return d
	}
	return session
}
