package binding_test

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// fAgree has shapes that encoding/json reads in the same way.
type fAgree struct {
	S string             `json:"s,omitempty"`
	I int64              `json:"i,omitempty"`
	U uint8              `json:"u,omitempty"`
	F float64            `json:"f,omitempty"`
	B bool               `json:"b,omitempty"`
	P *string            `json:"p"`
	L []int              `json:"l,omitempty"`
	M map[string]*fAgree `json:"m,omitempty"`
	K map[int16]bool     `json:"k,omitempty"`
	Y []byte             `json:"y,omitempty"`
	A [2]string          `json:"a,omitzero"`
	N json.Number        `json:"n,omitempty"`
	R json.RawMessage    `json:"r,omitempty"`
	Q int                `json:"q,string,omitempty"`
	tBase
}

// FuzzDecode checks that no text makes the plan panic, and that encoding/json reads what the plan accepts to
// the same value, except for numbers such as 1.0 and 1e2, which encoding/json refuses as integers.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"{}", `{"s":"a","i":1,"u":2,"f":1.5,"b":true,"p":null,"l":[1],"m":{"x":{"id":1}},"k":{"1":true},"y":"aGk=","a":["x","y"],"n":1e3,"r":[1],"id":3}`,
		`{"id":1,"s":"\ud83d\ude00","i":9007199254740993}`, `{"id":1,"q":"5"}`, `{"id":1,"l":"[1]"}`, `{"ID":1}`, "[]", "null", `{"id":1e2}`,
	} {
		f.Add([]byte(seed))
	}
	p, faults := binding.Compile(reflect.TypeFor[fAgree](), binding.Input, binding.Options{NoRepair: true})
	mending, _ := binding.Compile(reflect.TypeFor[fAgree](), binding.Input, binding.Options{})
	if p == nil {
		f.Fatal(faults)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if jsontext.Check(raw, jsontext.DefaultLimits()) != nil {
			return
		}
		var got, mended, std fAgree
		_, err := p.Decode(context.Background(), raw, reflect.ValueOf(&got).Elem())
		if _, err := mending.Decode(context.Background(), raw, reflect.ValueOf(&mended).Elem()); err != nil && err.Error() == "" {
			t.Error("an error without text")
		}
		if err != nil {
			return
		}
		if !reflect.DeepEqual(got, mended) {
			t.Errorf("%s: repair changed an accepted value", raw)
		}
		if json.Unmarshal(raw, &std) == nil && !equalJSON(got, std) {
			t.Errorf("%s\ngot  %+v\nwant %+v", raw, got, std)
		}
		out, err := p.Append(nil, reflect.ValueOf(got))
		if err != nil || !json.Valid(out) {
			t.Errorf("%s: encoded as %s, %v", raw, out, err)
		}
	})
}

// equalJSON compares values as encoding/json writes them, because RawMessage keeps the space of its text.
func equalJSON(a, b fAgree) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// TestAnyTypeCompiles checks that, whatever the type and its tags, Compile neither panics nor overflows, and
// returns a plan that works.
func TestAnyTypeCompiles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		typ := randomType(rt, 4)
		mode := rapid.SampledFrom([]binding.Mode{binding.Input, binding.Output, binding.Strings, binding.Form}).Draw(rt, "mode")
		p, faults := binding.Compile(typ, mode, binding.Options{})
		if p == nil {
			if len(faults) == 0 {
				rt.Fatalf("%s: neither a plan nor a fault", typ)
			}
			return
		}
		if !json.Valid(p.Schema()) {
			rt.Fatalf("%s: schema %s", typ, p.Schema())
		}
		v := reflect.New(typ).Elem()
		fill(rt, v, 4)
		out, err := p.Append(nil, v)
		if err == nil && !json.Valid(out) {
			rt.Fatalf("%s: %s", typ, out)
		}
		if err != nil || jsontext.Check(out, jsontext.DefaultLimits()) != nil {
			return
		}
		if _, err := p.Decode(context.Background(), out, v); err != nil {
			_ = err.Error()
		}
		_, err = p.Decode(context.Background(), []byte(`{"A":"x","b":[],"zz":{}}`), v)
		if err != nil {
			_ = err.Error()
		}
	})
}

func randomType(t *rapid.T, depth int) reflect.Type {
	leaves := []reflect.Type{
		reflect.TypeFor[string](), reflect.TypeFor[int](), reflect.TypeFor[uint8](), reflect.TypeFor[float32](), reflect.TypeFor[bool](),
		reflect.TypeFor[any](), reflect.TypeFor[json.RawMessage](), reflect.TypeFor[tColor](), reflect.TypeFor[tSize](), reflect.TypeFor[tMoney](),
		reflect.TypeFor[tNode](), reflect.TypeFor[chan int](), reflect.TypeFor[complex64](), reflect.TypeFor[error](), reflect.TypeFor[tForest](),
	}
	if depth == 0 {
		return rapid.SampledFrom(leaves).Draw(t, "leaf")
	}
	switch rapid.IntRange(0, 6).Draw(t, "shape") {
	case 0:
		return reflect.PointerTo(randomType(t, depth-1))
	case 1:
		return reflect.SliceOf(randomType(t, depth-1))
	case 2:
		return reflect.MapOf(rapid.SampledFrom(leaves[:3]).Draw(t, "key"), randomType(t, depth-1))
	case 3:
		return reflect.ArrayOf(rapid.IntRange(0, 3).Draw(t, "len"), randomType(t, depth-1))
	case 4, 5:
		var fields []reflect.StructField
		for i := range rapid.IntRange(0, 4).Draw(t, "fields") {
			fields = append(fields, reflect.StructField{
				Name: string(rune('A' + i)),
				Type: randomType(t, depth-1),
				Tag:  reflect.StructTag(rapid.SampledFrom(randomTags).Draw(t, "tag")),
			})
		}
		return reflect.StructOf(fields)
	}
	return rapid.SampledFrom(leaves).Draw(t, "leaf")
}

var randomTags = []string{
	"", "", "", `json:"b"`, `json:"b,omitempty"`, `json:",omitzero"`, `json:",string"`, `json:"-"`, `json:"-,"`, `json:"é,x"`,
	`validate:"required"`, `validate:"min=1"`, `validate:"min=1,max=3"`, `validate:"dive,min=1"`, `validate:"oneof=a b"`, `validate:"unique"`,
	`validate:"nope"`, `validate:"dive,keys,min=1,endkeys"`, `validate:"required_with=A"`, `validate:"gtfield=A"`, `validate:"email|ip"`,
	`validate:","`, `validate:"keys"`, `validate:"endkeys"`, `validate:"|"`, `validate:"="`, `validate:"dive"`, `validate:"len=-1"`,
	`validate:"datetime=2006"`, `validate:"omitempty,min=99999999999999999999"`,
	`default:"1"`, `default:"a,b"`, `default:"{}"`, `default:"null"`, `default:""`, `default:"["`,
	`jsonschema:"minimum=1"`, `jsonschema:"pattern=["`, `jsonschema:"enum=a,enum=b"`, `jsonschema:"type=string"`, `jsonschema:"="`, `jsonschema:"oneof_type=string;integer"`,
	`jsonschema:"maxItems=2"`, `jsonschema:"example=1"`, `doc:"a, b"`, `title:"t"`, `header:"H"`, `secret:"true"`, `uri:"u"`,
}
