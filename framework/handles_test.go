package framework_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/stdio"
)

// TestNilAndEmptyHandles calls every exported method of every handle, where there is none and
// where it is empty: an error, or nothing, and never a panic.
func TestNilAndEmptyHandles(t *testing.T) {
	t.Parallel()
	type in struct{ A int }
	for _, handle := range []any{
		(*framework.ToolOf[in, string])(nil), new(framework.ToolOf[in, string]),
		(*framework.ResourceOf[string])(nil), new(framework.ResourceOf[string]),
		(*framework.TemplateOf[in, string])(nil), new(framework.TemplateOf[in, string]),
		(*framework.PromptOf[in])(nil), new(framework.PromptOf[in]),
		new(framework.Server),
	} {
		v := reflect.ValueOf(handle)
		for i := range v.NumMethod() {
			method := v.Type().Method(i)
			t.Run(strings.TrimPrefix(v.Type().String(), "*")+"."+method.Name+map[bool]string{true: " of nil", false: " of none"}[v.IsNil()], func(t *testing.T) {
				t.Parallel()
				defer func() {
					if value := recover(); value != nil {
						t.Errorf("panic: %v", value)
					}
				}()
				v.Method(i).Call(arguments(method.Type))
			})
		}
	}
}

// arguments are usual ones for a method, whose first is the receiver.
func arguments(of reflect.Type) []reflect.Value {
	var all []reflect.Value
	for i := 1; i < of.NumIn(); i++ {
		kind := of.In(i)
		switch {
		case of.IsVariadic() && i == of.NumIn()-1:
		case kind == reflect.TypeFor[context.Context]():
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			all = append(all, reflect.ValueOf(ctx))
		case kind == reflect.TypeFor[json.RawMessage]() || kind == reflect.TypeFor[[]byte]():
			all = append(all, reflect.ValueOf([]byte("{}")).Convert(kind))
		case kind == reflect.TypeFor[*protocol.CallToolResult]():
			all = append(all, reflect.ValueOf(&protocol.CallToolResult{}))
		case kind == reflect.TypeFor[*transport.Connection]():
			all = append(all, reflect.ValueOf(new(transport.Connection)))
		case kind == reflect.TypeFor[framework.Component]():
			all = append(all, reflect.ValueOf(framework.Resource("x://y", func(context.Context) (string, error) { return "", nil })))
		default:
			all = append(all, reflect.New(kind).Elem())
		}
	}
	return all
}

// TestNilServer is what a program has that ignored the error of Build.
func TestNilServer(t *testing.T) {
	t.Parallel()
	var s *framework.Server
	_, accepted := s.Accept(t.Context(), []byte("{}"))
	for name, err := range map[string]error{"Start": s.Start(t.Context()), "Serve": s.Serve(t.Context()), "Accept": accepted} {
		if err == nil || !strings.Contains(err.Error(), "not built") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestOrderOfAServersLife: a server is for one run.
func TestOrderOfAServersLife(t *testing.T) {
	t.Parallel()
	for name, live := range map[string]func(*framework.Server) error{
		"Start after Shutdown": func(s *framework.Server) error {
			return errors.Join(s.Shutdown(t.Context()), s.Start(t.Context()))
		},
		"Start after a start and Shutdown": func(s *framework.Server) error {
			return errors.Join(s.Start(t.Context()), s.Shutdown(t.Context()), s.Start(t.Context()))
		},
		"Serve after Shutdown": func(s *framework.Server) error {
			return errors.Join(s.Start(t.Context()), s.Shutdown(t.Context()), s.Serve(t.Context(), stdio.New(stdio.Streams(strings.NewReader(""), io.Discard))))
		},
	} {
		s, err := framework.New("x", "1").Build()
		if err != nil {
			t.Fatal(err)
		}
		if err := live(s); !errors.Is(err, engine.ErrShutdown) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
