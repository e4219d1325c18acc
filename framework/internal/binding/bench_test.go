package binding_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/go-playground/validator/v10"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
	"github.com/kagami-mcp/kagami/framework/internal/binding/internal/bindingtest"
)

// bSearch is a nested input with ten fields. Other frameworks are also measured with it. bRaw is a call.
type bSearch = bindingtest.Search

const bRaw = bindingtest.SearchCall

func BenchmarkDecode(b *testing.B) {
	p := mustCompile(b, reflect.TypeFor[bSearch](), binding.Input, binding.Options{})
	raw := []byte(bRaw)
	var v bSearch
	into := reflect.ValueOf(&v).Elem()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Decode(context.Background(), raw, into); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecodeStandard measures encoding/json and validator, for comparison.
func BenchmarkDecodeStandard(b *testing.B) {
	check := validator.New(validator.WithRequiredStructEnabled())
	raw := []byte(bRaw)
	b.ReportAllocs()
	for b.Loop() {
		var v bSearch
		if err := json.Unmarshal(raw, &v); err != nil {
			b.Fatal(err)
		}
		if err := check.Struct(&v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	p := mustCompile(b, reflect.TypeFor[bSearch](), binding.Output, binding.Options{})
	var v bSearch
	if err := json.Unmarshal([]byte(bRaw), &v); err != nil {
		b.Fatal(err)
	}
	into := reflect.ValueOf(&v).Elem()
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		out, err := p.Append(dst[:0], into)
		if err != nil {
			b.Fatal(err)
		}
		dst = out
	}
}

func BenchmarkAppendStandard(b *testing.B) {
	var v bSearch
	if err := json.Unmarshal([]byte(bRaw), &v); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := json.Marshal(&v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if p, _ := binding.Compile(reflect.TypeFor[bSearch](), binding.Input, binding.Options{}); p == nil {
			b.Fatal("no plan")
		}
	}
}

// BenchmarkDecodeSizes shows that reading is linear in the text, whatever part of it grows.
func BenchmarkDecodeSizes(b *testing.B) {
	type item struct {
		ID   int    `json:"id" validate:"min=0"`
		Name string `json:"name" validate:"min=1,max=20"`
	}
	type in struct {
		Items []item         `json:"items,omitempty"`
		Text  string         `json:"text,omitempty"`
		Map   map[string]int `json:"map,omitempty"`
	}
	p := mustCompile(b, reflect.TypeFor[in](), binding.Input, binding.Options{})
	for _, n := range []int{10, 100, 1_000, 10_000} {
		var items, members []string
		for i := range n {
			items = append(items, fmt.Sprintf(`{"id":%d,"name":"n%d"}`, i, i))
			members = append(members, fmt.Sprintf(`"k%d":%d`, i, i))
		}
		for name, raw := range map[string]string{
			"items": `{"items":[` + strings.Join(items, ",") + `]}`,
			"map":   `{"map":{` + strings.Join(members, ",") + `}}`,
			"text":  `{"text":"` + strings.Repeat("ten bytes\\n", n) + `"}`,
		} {
			b.Run(fmt.Sprint(name, "/", n), func(b *testing.B) {
				into, text := reflect.New(reflect.TypeFor[in]()).Elem(), []byte(raw)
				b.SetBytes(int64(len(raw)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := p.Decode(context.Background(), text, into); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
