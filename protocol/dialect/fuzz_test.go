package dialect_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// seeds are all goldens, each under every revision: what one revision knows is
// noise to another.
func seeds(f *testing.F, result bool) {
	f.Helper()
	methods := dialect.Methods()
	for _, d := range dialect.All() {
		for _, c := range wireCases() {
			if !c.in(d) || (c.params == nil) != result {
				continue
			}
			golden, err := os.ReadFile(c.file(d))
			if err != nil {
				f.Fatal(err)
			}
			for i, m := range methods {
				if m == c.method {
					for rev := range dialect.All() {
						f.Add(uint8(rev), uint8(i), golden)
					}
				}
			}
		}
	}
	f.Add(uint8(0), uint8(255), []byte(`{"a":[1,-0.5e-7,"\ud83d\ude00"],"_meta":{"n":1e400}}`))
}

// pick maps fuzzed numbers to a revision and a method, possibly an unknown one.
func pick(rev, method uint8) (*dialect.Dialect, string) {
	all, methods := dialect.All(), append(dialect.Methods(), "vendor/run")
	return all[int(rev)%len(all)], methods[int(method)%len(methods)]
}

// refusals are faults of values that a schema cannot tell from good ones.
var refusals = []string{
	"must be base64", "ISO 8601", "must be an integer", "is out of range", "must have text or blob",
	"must not be empty", "is missing or empty", "is not one that", "must have inputRequests or requestState",
	"params._meta must be an object", "progressToken must be", // in params, unknown to the schemas before 2025-11-25
	"taskIds",                 // the tasks extension's
	"oneOf must list strings", // of a form, where the schema of 2025-06-18 knows no oneOf
}

func refusable(message string) bool {
	for _, r := range refusals {
		if strings.Contains(message, r) {
			return true
		}
	}
	return false
}

// FuzzDecodeParams: what is valid by the official schema decodes, encodes, and
// is valid then; what decodes and encodes does so again, to the same bytes.
func FuzzDecodeParams(f *testing.F) {
	seeds(f, false)
	fuzzWire(f, false)
}

// FuzzDecodeResult is FuzzDecodeParams for results.
func FuzzDecodeResult(f *testing.F) {
	seeds(f, true)
	fuzzWire(f, true)
}

func fuzzWire(f *testing.F, result bool) {
	schemas := newOfficial()
	schemas.anyURI = true
	f.Fuzz(func(t *testing.T, rev, method uint8, text []byte) {
		if jsontext.Check(text, jsontext.DefaultLimits()) != nil {
			return
		}
		d, name := pick(rev, method)
		c := &wireCase{method: name}
		if !result {
			c.params = asks(nil) // again reads params
		}
		var valid bool
		place := fuzzPlace(d, name, result, text)
		if place != "" && jsontext.Unique(text) == nil {
			valid = schemas.judge(t, schemas.schema(t, d, place), text) == nil
		}
		once, err := c.again(d, text)
		if err != nil {
			if valid && !refusable(err.Error()) {
				t.Fatalf("%s %s: valid by the schema, but %v: %s", d, name, err, text)
			}
			return
		}
		if err := jsontext.Check(once, jsontext.Limits{}); err != nil {
			t.Fatalf("%s %s: wrote %s: %v", d, name, once, err)
		}
		twice, err := c.again(d, once)
		if err != nil {
			t.Fatalf("%s %s: cannot read what it wrote, %s: %v", d, name, once, err)
		}
		if !bytes.Equal(once, twice) {
			t.Fatalf("%s %s: not stable\n once %s\ntwice %s", d, name, once, twice)
		}
		if valid {
			if err := schemas.judge(t, schemas.schema(t, d, place), once); err != nil {
				t.Fatalf("%s %s: wrote what the schema refuses, %s: %v", d, name, once, err)
			}
		}
	})
}

// fuzzPlace is the definition for a text, "" where there is none or where the
// official schema leaves the revision's rules out.
func fuzzPlace(d *dialect.Dialect, method string, result bool, text []byte) string {
	if !has(d, method) {
		return ""
	}
	if inside := d.ServerMethod(method) && !d.ServerRequests(); inside && !result {
		return "" // only inside input_required, which is seeded for itself
	}
	kind := ""
	if result {
		v, _ := jsontext.Member(text, "resultType")
		resultType, _ := jsontext.String(v)
		_, nested := jsontext.Member(text, "task")
		switch {
		case d.ResultType() && resultType == "input_required":
			kind = "input"
		case d.ResultType() && resultType == "task", d.CoreTasks() && nested:
			return ""
		}
	}
	return definition(d, method, result, kind)
}
