package dialect_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
)

// drawn are the results that handlers, servers and clients make.
var drawn = map[string]protocol.Result{
	protocol.MethodCallTool: &protocol.CallToolResult{}, protocol.MethodReadResource: &protocol.ReadResourceResult{},
	protocol.MethodGetPrompt: &protocol.GetPromptResult{}, protocol.MethodComplete: &protocol.CompleteResult{},
	protocol.MethodListTools: &protocol.ListToolsResult{}, protocol.MethodListResources: &protocol.ListResourcesResult{},
	protocol.MethodListTemplates: &protocol.ListTemplatesResult{}, protocol.MethodListPrompts: &protocol.ListPromptsResult{},
	protocol.MethodInitialize: &protocol.InitializeResult{}, protocol.MethodDiscover: &protocol.DiscoverResult{},
	protocol.MethodElicit: &protocol.ElicitResult{}, protocol.MethodCreateMessage: &protocol.CreateMessageResult{},
	protocol.MethodListRoots: &protocol.ListRootsResult{},
}

// TestRandomResultsAreValid: what is encoded is valid by the official schema of the
// revision, and can be read.
func TestRandomResultsAreValid(t *testing.T) {
	t.Parallel()
	schemas := newOfficial()
	schemas.anyURI = true
	for _, d := range dialect.All() {
		for method, result := range drawn {
			if !d.ClientMethod(method) && !d.ServerMethod(method) {
				continue
			}
			t.Run(d.String()+" "+method, func(t *testing.T) {
				t.Parallel()
				schema, encoded := schemas.schema(t, d, definition(d, method, true, "")), 0
				rapid.Check(t, func(rt *rapid.T) {
					v := reflect.New(reflect.TypeOf(result).Elem())
					model{rt}.fill(v.Elem(), 5)
					text, err := d.AppendResult(nil, v.Interface().(protocol.Result), nil)
					if err != nil {
						return // a role that there is not, say
					}
					encoded++
					if err := schemas.judge(t, schema, text); err != nil {
						rt.Fatalf("%s\n%v", text, err)
					}
					if _, fault := d.DecodeResult(method, text); fault != nil {
						rt.Fatalf("%s\n%v", text, fault)
					}
				})
				if encoded == 0 {
					t.Error("nothing was encoded")
				}
			})
		}
	}
}

// model draws values of the protocol's types.
type model struct{ t *rapid.T }

func (m model) one(of ...string) string { return rapid.SampledFrom(of).Draw(m.t, "text") }

func (m model) dice(n int) int { return rapid.IntRange(0, n-1).Draw(m.t, "dice") }

func (m model) fill(v reflect.Value, depth int) {
	switch to := v.Addr().Interface().(type) {
	case *time.Time:
		if m.dice(2) == 0 {
			*to = time.Date(2026, 1, 2, 3, 4, m.dice(60), m.dice(2)*1000, time.UTC)
		}
	case *json.RawMessage:
		*to = json.RawMessage(m.one(`{"type":"object"}`, `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`))
	case *protocol.Block:
		m.block(v, depth)
	case *protocol.Role:
		*to = protocol.Role(m.one("user", "assistant", "system", ""))
	case *protocol.TaskSupport:
		*to = protocol.TaskSupport(m.one("", "forbidden", "optional", "required"))
	case *protocol.Meta:
		if m.dice(3) == 0 {
			*to = protocol.Meta{"example.com/a": m.one("x", "")}
		}
	case *protocol.Icon:
		*to = protocol.Icon{Src: m.one("", "https://example.com/a.png"), MIMEType: m.one("", "image/png"), Theme: m.one("", "light", "dark", "blue")}
		m.fill(v.FieldByName("Sizes"), 1)
	case *protocol.Implementation: // of which only programs speak that know what they say
		*to = protocol.Implementation{Name: m.one("", "a"), Title: m.one("", "A"), Version: m.one("", "1"), Icons: []protocol.Icon{{Src: "https://example.com/a.png", Theme: "dark"}}}
	case *protocol.ElicitResult:
		*to = protocol.ElicitResult{Action: m.one("accept", "decline", "cancel")}
	default:
		m.fillPlain(v, depth)
	}
}

func (m model) fillPlain(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(m.one("", "a", "a://b", "é\x00\u2028\"", "text/plain", strings.Repeat("x", 40)))
	case reflect.Bool:
		v.SetBool(m.dice(2) == 0)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(rapid.SampledFrom([]int{0, 1, -1, 1000, 1 << 40}).Draw(m.t, "int")))
	case reflect.Float64:
		v.SetFloat(rapid.SampledFrom([]float64{0, 1, 0.5, 7, -1}).Draw(m.t, "float"))
	case reflect.Pointer:
		if depth > 0 && m.dice(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			m.fill(v.Elem(), depth-1)
		}
	case reflect.Slice:
		m.list(v, depth)
	case reflect.Struct:
		for f, field := range v.Fields() {
			if f.IsExported() {
				m.fill(field, depth-1)
			}
		}
	case reflect.Map:
		if m.dice(2) == 0 {
			v.Set(reflect.MakeMap(v.Type()))
		}
	case reflect.Interface: // of which there is nothing a user could set
	default:
		m.t.Fatalf("no values of type %s are known", v.Type())
	}
}

func (m model) list(v reflect.Value, depth int) {
	n := m.dice(3)
	switch {
	case v.Type().Elem().Kind() == reflect.Uint8:
		if n > 0 {
			v.SetBytes([]byte(m.one("", "a", "\xff\x00")))
		}
		return
	case depth <= 0 || n == 0 && m.dice(2) == 0:
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i := range n {
		m.fill(v.Index(i), depth-1)
	}
}

func (m model) block(v reflect.Value, depth int) {
	types := []reflect.Type{
		reflect.TypeFor[protocol.Text](), reflect.TypeFor[protocol.Image](), reflect.TypeFor[protocol.Audio](),
		reflect.TypeFor[protocol.Embedded](), reflect.TypeFor[protocol.Link](),
	}
	b := reflect.New(rapid.SampledFrom(types).Draw(m.t, "block")).Elem()
	m.fill(b, depth)
	v.Set(b)
}
