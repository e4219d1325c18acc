// Command schemaserver has a tool for every kind of Go type that JSON can represent. Each takes a
// value as "v" and returns it, so that a client can compare the framework's own output with the
// listed schema.
package main

import (
	"context"
	"encoding/json"
	"math/big"
	"net/netip"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
	"github.com/kagami-mcp/kagami/testkit/internal/schemaserver/other"
)

func main() {
	// Without repair, the server accepts exactly what its schemas accept.
	serve.Main(framework.New("schemas", "1.0.0", framework.WithoutRepair(), framework.WithPageSize(20),
		framework.OneOf("kind", map[string]shape{"circle": circle{}, "group": group{}})).
		Add(scalars()...).
		Add(leaves()...).
		Add(containers()...).
		Add(structs()...).
		Add(ownForms()...).
		Add(rules()...).
		Add(roots()...))
}

type box[T any] struct {
	V T `json:"v" doc:"the value"`
}

// echo returns a tool that returns its argument.
func echo[T any](name string) framework.Component {
	return framework.Tool(name, func(_ context.Context, in box[T]) (box[T], error) { return in, nil },
		framework.Describe("Returns its argument, of kind "+name+"."), framework.ReadOnly())
}

// root returns a tool whose result is the value itself.
func root[T any](name string) framework.Component {
	return framework.Tool(name, func(_ context.Context, in box[T]) (T, error) { return in.V, nil },
		framework.Describe("Returns the value alone, of kind "+name+"."), framework.ReadOnly())
}

func scalars() []framework.Component {
	return []framework.Component{
		echo[int]("int"), echo[int8]("int8"), echo[int16]("int16"), echo[int32]("int32"), echo[int64]("int64"),
		echo[uint]("uint"), echo[uint8]("uint8"), echo[uint16]("uint16"), echo[uint32]("uint32"), echo[uint64]("uint64"),
		echo[float32]("float32"), echo[float64]("float64"), echo[bool]("bool"), echo[string]("string"),
		echo[named]("named"),
	}
}

func leaves() []framework.Component {
	return []framework.Component{
		echo[[]byte]("bytes"), echo[time.Time]("time"), echo[time.Duration]("duration"),
		echo[netip.Addr]("addr"), echo[netip.Prefix]("prefix"), echo[netip.AddrPort]("addrport"),
		echo[big.Int]("bigint"), echo[*big.Int]("bigint_pointer"), echo[big.Float]("bigfloat"),
		echo[json.Number]("number"), echo[json.RawMessage]("raw"), echo[any]("any"),
	}
}

func containers() []framework.Component {
	return []framework.Component{
		echo[map[string]int]("map"), echo[map[int]string]("int_map"), echo[map[uint8]bool]("uint_map"),
		echo[map[netip.Addr]int]("text_map"), echo[map[string]any]("any_map"), echo[map[string][]int]("list_map"),
		echo[[3]int]("array"), echo[[4]byte]("byte_array"), echo[[]string]("slice"), echo[[][]int]("slices"),
		echo[[]*int]("pointer_slice"), echo[*string]("pointer"), echo[**int]("pointer_pointer"),
		echo[[]any]("any_slice"), echo[[]time.Duration]("durations"), echo[map[string]*bool]("pointer_map"),
	}
}

func structs() []framework.Component {
	return []framework.Component{
		echo[inner]("struct"), echo[*inner]("struct_pointer"), echo[struct{}]("empty"),
		echo[embeds]("embedded"), echo[embedsPointer]("embedded_pointer"), echo[shadows]("shadowed"),
		echo[optional]("optional"), echo[quoted]("quoted"),
		echo[pair[int, string]]("generic"), echo[pair[pair[bool, int], []string]]("generic_nested"),
		echo[tree]("recursive"), echo[ping]("mutual"), echo[forest]("recursive_map"), echo[nest]("recursive_slice"),
		echo[linked[int]]("generic_recursive"), echo[twoConfigs]("same_name"),
	}
}

func ownForms() []framework.Component {
	return []framework.Component{
		echo[color]("enum"), echo[*color]("enum_pointer"), echo[[]color]("enum_slice"), echo[level]("int_enum"),
		echo[map[color]int]("enum_map"), echo[textValue]("text_value"), echo[textPointer]("text_pointer"),
		echo[money]("json_value"), echo[moneyPointer]("json_pointer"), echo[opaque]("json_opaque"),
	}
}

func rules() []framework.Component {
	return []framework.Component{
		echo[framework.URL]("url"), echo[shape]("union"), echo[[]shape]("union_slice"), root[shape]("root_union"),
		echo[limits]("limits"), echo[formats]("formats"), echo[defaults]("defaults"),
	}
}

func roots() []framework.Component {
	return []framework.Component{
		root[inner]("root_struct"), root[[]inner]("root_list"), root[map[string]int]("root_map"), root[int]("root_int"),
		root[*inner]("root_pointer"), root[tree]("root_recursive"), root[nest]("root_recursive_slice"),
		root[any]("root_any"), root[color]("root_enum"),
		framework.Tool("header", func(_ context.Context, in regional) (regional, error) { return in, nil },
			framework.Describe("Has an argument that is mirrored into an HTTP header."), framework.ReadOnly()),
		framework.Tool("own_schemas", func(_ context.Context, in json.RawMessage) (json.RawMessage, error) { return in, nil },
			framework.Describe("Brings its own schemas."),
			framework.InputSchema(ownSchema), framework.OutputSchema(ownSchema), framework.ReadOnly()),
		framework.Tool("zeros", func(context.Context, struct{}) (zeros, error) { return zeros{}, nil },
			framework.Describe("Returns nothing but zero values."), framework.ReadOnly()),
		framework.Tool("nils", func(context.Context, struct{}) (nils, error) { return nils{}, nil },
			framework.Describe("Returns nothing but nil lists, maps and pointers."), framework.ReadOnly()),
	}
}

const ownSchema = `{"type":"object","properties":{"v":{"type":"string","minLength":2}},"required":["v"],"additionalProperties":false}`

type regional struct {
	V string `json:"v" header:"Region"`
}

type twoConfigs struct {
	Ours   Config       `json:"ours"`
	Theirs other.Config `json:"theirs"`
}

// Config has the name of a type of another package, and is recursive like it.
type Config struct {
	Host   string  `json:"host"`
	Backup *Config `json:"backup,omitempty"`
}
