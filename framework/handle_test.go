package framework_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

type handleValue struct {
	Took  time.Duration `json:"took"`
	Exact uint64        `json:"exact"`
}

func textResult(text string) *protocol.CallToolResult {
	return &protocol.CallToolResult{Content: []protocol.Block{protocol.Text{Text: text}}}
}

func structuredResult(wrapped bool, raw string) *protocol.CallToolResult {
	return &protocol.CallToolResult{Structured: json.RawMessage(raw), Wrapped: wrapped}
}

// readAs is DecodeResult without its type, for tables.
func readAs[T any](r *protocol.CallToolResult) (any, error) { return framework.DecodeResult[T](r) }

func TestDecodeResult(t *testing.T) {
	t.Parallel()
	value := handleValue{Took: 90 * time.Second, Exact: 1<<64 - 1}
	const raw = `{"took":"90s","exact":18446744073709551615}`
	image := protocol.Image{Data: []byte{1}, MIME: "image/png"}
	blob := &protocol.CallToolResult{Content: []protocol.Block{protocol.Embedded{Contents: protocol.Contents{URI: "x://y", Data: []byte{1, 2}}}}}
	one := &protocol.CallToolResult{Content: []protocol.Block{image}}
	rich := &protocol.CallToolResult{
		Content:    []protocol.Block{protocol.Text{Text: "own"}},
		Structured: json.RawMessage(raw),
		Meta:       protocol.Meta{"k": "v", "io.modelcontextprotocol/serverInfo": map[string]any{}},
	}
	unstructured := &protocol.CallToolResult{Content: rich.Content}
	tests := map[string]struct {
		read   func(*protocol.CallToolResult) (any, error)
		result *protocol.CallToolResult
		want   any
		err    string
	}{
		"structured":             {readAs[handleValue], structuredResult(true, raw), value, ""},
		"text of a value":        {readAs[handleValue], textResult(raw), value, ""},
		"pointer":                {readAs[*handleValue], structuredResult(true, raw), &value, ""},
		"nil pointer":            {readAs[*handleValue], structuredResult(true, `{"result": null}`), (*handleValue)(nil), ""},
		"wrapped":                {readAs[[]int], structuredResult(true, `{"result":[1,2]}`), []int{1, 2}, ""},
		"bare":                   {readAs[[]int], structuredResult(false, `[1,2]`), []int{1, 2}, ""},
		"bare null":              {readAs[*int], structuredResult(false, `null`), (*int)(nil), ""},
		"wrapped without member": {readAs[[]int], structuredResult(true, `{}`), nil, `"result"`},
		"member result":          {readAs[struct{ Result int }], structuredResult(true, `{"Result":1}`), struct{ Result int }{1}, ""},
		"unknown members":        {readAs[handleValue], structuredResult(false, `{"took":"90s","exact":18446744073709551615,"more":1}`), value, ""},
		"wrong type":             {readAs[handleValue], structuredResult(false, `{"took":7,"exact":0}`), nil, "took"},
		"no JSON":                {readAs[handleValue], textResult("oops"), nil, "invalid JSON"},
		"raw":                    {readAs[json.RawMessage], structuredResult(false, `{"a":1}`), json.RawMessage(`{"a":1}`), ""},
		"string":                 {readAs[string], textResult("hello"), "hello", ""},
		"none":                   {readAs[struct{}], &protocol.CallToolResult{}, struct{}{}, ""},
		"bytes":                  {readAs[[]byte], blob, []byte{1, 2}, ""},
		"bytes missing":          {readAs[[]byte], textResult("x"), nil, "blob"},
		"block":                  {readAs[framework.Image], one, image, ""},
		"any block":              {readAs[protocol.Block], one, image, ""},
		"other block":            {readAs[framework.Audio], one, nil, "Image"},
		"no block":               {readAs[framework.Image], &protocol.CallToolResult{}, nil, "no block"},
		"content":                {readAs[framework.Content], one, framework.Content{image}, ""},
		"rich": {
			readAs[framework.Rich[handleValue]], rich,
			framework.Rich[handleValue]{Value: value, Content: rich.Content, Meta: protocol.Meta{"k": "v"}},
			"",
		},
		"rich without structure": {
			readAs[framework.Rich[handleValue]], unstructured,
			framework.Rich[handleValue]{Content: rich.Content},
			"",
		},
		"rich text":       {readAs[framework.Rich[string]], textResult("own"), framework.Rich[string]{Value: "own", Content: rich.Content}, ""},
		"rich, bad":       {readAs[framework.Rich[handleValue]], structuredResult(false, `7`), nil, "7"},
		"no result":       {readAs[handleValue], nil, nil, "there is no result"},
		"nil block":       {readAs[framework.Image], &protocol.CallToolResult{Content: []protocol.Block{nil}}, nil, "got nil, want one protocol.Image"},
		"rich of no JSON": {readAs[framework.Rich[chan int]], textResult("1"), nil, "chan int"},
		"no JSON shape":   {readAs[chan int], textResult("1"), nil, "chan int"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := tt.read(tt.result)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %#v, %v; want an error with %q", got, err, tt.err)
				}
				return
			}
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %#v, %v; want %#v", got, err, tt.want)
			}
		})
	}
}

func TestDecodeStream(t *testing.T) {
	t.Parallel()
	stream, err := framework.DecodeResult[framework.Stream](textResult("a"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // it may be ranged over again
		n := 0
		for block, err := range stream {
			if err != nil || block.(protocol.Text).Text != "a" {
				t.Errorf("got %v, %v", block, err)
			}
			n++
			break
		}
		if n != 1 {
			t.Errorf("%d blocks", n)
		}
	}
}

func TestEncodeAndDecodeJSON(t *testing.T) {
	t.Parallel()
	value := handleValue{Took: 90 * time.Second, Exact: 1<<64 - 1}
	raw, err := framework.EncodeJSON(value)
	if err != nil || !strings.Contains(string(raw), "18446744073709551615") || strings.Contains(string(raw), "90000000000") {
		t.Errorf("EncodeJSON: %s, %v", raw, err)
	}
	if got, err := framework.DecodeJSON[handleValue](raw); err != nil || got != value {
		t.Errorf("DecodeJSON: %+v, %v", got, err)
	}
	if raw, err := framework.EncodeJSON(nil); err != nil || string(raw) != "null" {
		t.Errorf("nil: %s, %v", raw, err)
	}
	if raw, err := framework.EncodeJSON(make(chan int)); err == nil {
		t.Errorf("a channel became %s", raw)
	}
	for _, blocks := range []any{framework.Content{framework.Text("a")}, framework.Text("a"), framework.Rich[int]{}, framework.Contents{}, map[string]any{"a": framework.Text("a")}} {
		if raw, err := framework.EncodeJSON(blocks); err == nil || !strings.Contains(err.Error(), "no JSON of its own") {
			t.Errorf("%T became %s, %v", blocks, raw, err)
		}
	}
	if _, err := framework.DecodeJSON[framework.Content](json.RawMessage(`[]`)); err == nil || !strings.Contains(err.Error(), "no JSON of its own") {
		t.Errorf("content: %v", err)
	}
	if got, err := framework.DecodeJSON[string](json.RawMessage(`"x"`)); err != nil || got != "x" {
		t.Errorf("string: %q, %v", got, err)
	}
	if got, err := framework.DecodeJSON[[]byte](json.RawMessage(`"AQI="`)); err != nil || !slices.Equal(got, []byte{1, 2}) {
		t.Errorf("bytes: %v, %v", got, err)
	}
	if _, err := framework.DecodeJSON[int](json.RawMessage(`1 2`)); err == nil {
		t.Error("two values were read as one")
	}
}

func TestHandleEncodesAndDecodes(t *testing.T) {
	t.Parallel()
	tool := framework.Tool("wait", func(_ context.Context, in handleValue) (handleValue, error) { return in, nil })
	value := handleValue{Took: time.Minute, Exact: 1<<64 - 1}
	raw, err := tool.Encode(value)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := tool.Decode(structuredResult(false, string(raw))); err != nil || got != value {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := tool.Decode(textResult("oops")); err == nil || !strings.Contains(err.Error(), "wait") {
		t.Errorf("error %v", err)
	}
	faulty := framework.Tool("faulty", func(context.Context, chan int) (chan int, error) { return nil, nil })
	if _, err := faulty.Encode(nil); err == nil {
		t.Error("a channel was encoded")
	}
	if _, err := faulty.Decode(textResult("1")); err == nil {
		t.Error("a channel was decoded")
	}
}

func TestNameOf(t *testing.T) {
	t.Parallel()
	tool := framework.Tool("one", func(context.Context, struct{}) (string, error) { return "", nil })
	prompt := framework.Prompt("two", func(context.Context, struct{}) (framework.Messages, error) { return nil, nil })
	resource := framework.Resource("x://three", func(context.Context) (string, error) { return "", nil })
	stranger := framework.Tool("four", func(context.Context, struct{}) (string, error) { return "", nil })
	server, err := framework.New("a", "1").Add(framework.Group("g", framework.Group("h", tool), prompt, resource)).Build()
	if err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]framework.Component{"g_h_one": tool, "g_two": prompt, "x://three": resource, "": stranger} {
		if got, ok := server.NameOf(c); got != want || ok != (want != "") {
			t.Errorf("NameOf(%s) is %q, %v", fmt.Sprintf("%T", c), got, ok)
		}
	}
	extended := struct {
		*framework.ToolOf[struct{}, string]
		notes []string // a value that cannot be compared
	}{ToolOf: stranger}
	if err := server.Add(extended); err != nil {
		t.Fatal(err)
	}
	if got, ok := server.NameOf(extended); got != "four" || !ok {
		t.Errorf("NameOf what embeds a tool is %q, %v", got, ok)
	}
	if _, ok := new(framework.Server).NameOf(tool); ok {
		t.Error("the zero Server has a tool")
	}
}

// An empty handle returns an error that says so.
func TestHandleOfNothing(t *testing.T) {
	t.Parallel()
	var tool framework.ToolOf[struct{}, string]
	_, encoding := tool.Encode(struct{}{})
	_, decoding := tool.Decode(nil)
	_, calling := tool.Call(t.Context(), struct{}{})
	for name, err := range map[string]error{"Encode": encoding, "Decode": decoding, "Call": calling, "Check": tool.Check(nil)} {
		if err == nil || !strings.Contains(err.Error(), "made by Tool") {
			t.Errorf("%s: %v", name, err)
		}
	}
	var template framework.TemplateOf[struct{}, string]
	if in, out, uri := tool.InputSchema(), tool.OutputSchema(), template.URI(struct{}{}); in != nil || out != nil || uri != "" {
		t.Errorf("schemas %s and %s, URI %q", in, out, uri)
	}
}

type sold struct {
	Total int `json:"total"`
}

func (s *sold) Validate() error {
	if s.Total == 0 {
		return framework.UserErrorf("nothing was sold")
	}
	return nil
}

// TestResultsAreNotValidated: Validate is for inputs; a result is read as the function returned it.
func TestResultsAreNotValidated(t *testing.T) {
	t.Parallel()
	if got, err := framework.DecodeResult[sold](structuredResult(false, `{"total":0}`)); err != nil || got.Total != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := framework.DecodeJSON[*sold](json.RawMessage(`null`)); err != nil || got != nil {
		t.Errorf("null: %+v, %v", got, err)
	}
}
