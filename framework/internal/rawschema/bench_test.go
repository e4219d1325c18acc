package rawschema_test

import (
	"bytes"
	"testing"

	judge "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kagami-mcp/kagami/framework/internal/rawschema"
)

var (
	booking = []byte(`{"type":"object","required":["from","to","date","passengers"],"additionalProperties":false,"properties":{
		"from":{"type":"string","pattern":"^[A-Z]{3}$"},"to":{"type":"string","pattern":"^[A-Z]{3}$"},"date":{"type":"string","maxLength":10},
		"cabin":{"enum":["economy","business"]},"flexible":{"type":"boolean"},"budget":{"type":"number","minimum":0,"maximum":100000},
		"passengers":{"type":"array","minItems":1,"maxItems":9,"items":{"$ref":"#/$defs/passenger"}}},
		"$defs":{"passenger":{"type":"object","required":["name"],"properties":{"name":{"type":"string","minLength":1},"age":{"type":"integer","minimum":0}}}}}`)
	trip = []byte(`{"from":"HAM","to":"NRT","date":"2026-12-01","cabin":"economy","flexible":true,"budget":1500.50,
		"passengers":[{"name":"Ada","age":36},{"name":"Grace","age":40},{"name":"Edsger"}]}`)
)

func BenchmarkAccepts(b *testing.B) {
	s, err := rawschema.Compile(booking)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if !s.Accepts(trip) {
			b.Fatal("refused")
		}
	}
}

// The judge that Kagami had before, for the ratio.
func BenchmarkAnotherJudge(b *testing.B) {
	s, err := otherJudge(booking)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		doc, err := judge.UnmarshalJSON(bytes.NewReader(trip))
		if err != nil || s.Validate(doc) != nil {
			b.Fatal("refused")
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rawschema.Compile(booking); err != nil {
			b.Fatal(err)
		}
	}
}
