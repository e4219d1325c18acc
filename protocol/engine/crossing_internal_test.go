package engine

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol/engine/internal/nodebus"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/taskrecord"
	"github.com/kagami-mcp/kagami/transport"
)

// TestWhatCrossesComesOutAsItWentIn fills every type that is written to a store or sent to another
// node, field by field, and reads it back. The test fails for a new field that is not written.
func TestWhatCrossesComesOutAsItWentIn(t *testing.T) {
	t.Parallel()
	for _, v := range []any{&taskrecord.Call{}, &taskrecord.Principal{}, &keptSession{}, &nodebus.Message{}, &taskrecord.Question{}} {
		in := reflect.ValueOf(v).Elem()
		t.Run(in.Type().Name(), func(t *testing.T) {
			t.Parallel()
			fill(t, in, 1)
			text, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			out := reflect.New(in.Type())
			if err := json.Unmarshal(text, out.Interface()); err != nil || !reflect.DeepEqual(out.Elem().Interface(), in.Interface()) {
				t.Errorf("%v\n in %+v\nout %+v", err, in, out.Elem())
			}
		})
	}
}

// TestPrincipalsCross checks that a principal does not change on its way to the node that runs its
// task. A number in a claim may identify a tenant, and a float64 could change it into the number of
// another tenant.
func TestPrincipalsCross(t *testing.T) {
	t.Parallel()
	for name, claims := range map[string]map[string]any{
		"none":         nil,
		"empty":        {},
		"of a token":   {"tenant": json.Number("9007199254740993"), "deep": map[string]any{"list": []any{json.Number("1e400"), json.Number("1.0"), "x", true, nil}}},
		"of a program": {"level": 1.5, "list": []any{2.0, "x"}},
		"of both":      {"tenant": json.Number("9007199254740993"), "level": 1.5, "list": []any{json.Number("1.0"), 1e21, json.Number("1e400")}},
		"texts":        {"roles": []any{"a", "b"}, "name": "<é>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := transport.Principal{}
			fill(t, reflect.ValueOf(&in).Elem(), 1)
			in.Claims = claims
			recorded, err := taskrecord.RecordPrincipal(&in)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(recorded)
			if err != nil {
				t.Fatal(err)
			}
			var read taskrecord.Principal
			if err := json.Unmarshal(text, &read); err != nil {
				t.Fatal(err)
			}
			out, err := read.Restore()
			if err != nil || !reflect.DeepEqual(*out, in) {
				t.Errorf("%v\n in %#v\nout %#v", err, in, out)
			}
		})
	}
	if _, err := taskrecord.RecordPrincipal(&transport.Principal{Claims: map[string]any{"f": func() {}}}); err == nil {
		t.Error("a claim that has no JSON form was recorded")
	}
}

// fill gives every field another value than its zero.
func fill(t *testing.T, v reflect.Value, n int64) {
	t.Helper()
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(n, 7).UTC()))
		return
	case json.RawMessage:
		v.SetBytes(fmt.Appendf(nil, `{"n":9007199254740993,"i":%d}`, n))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), n+int64(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(t, v.Index(0), n)
		fill(t, v.Index(1), n+1)
	case reflect.Map: // claims, which have a test of their own
	case reflect.String:
		v.SetString(fmt.Sprintf("text <%d>", n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(n)
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(uint64(n) + 1<<7)
	default:
		t.Fatalf("%s: the test fills no %s", v.Type(), v.Kind())
	}
}
