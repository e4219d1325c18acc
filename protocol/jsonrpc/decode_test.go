package jsonrpc_test

import (
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

func check(t *testing.T, frame string) []byte {
	t.Helper()
	if err := jsontext.Check([]byte(frame), jsontext.DefaultLimits()); err != nil {
		t.Fatalf("the test's own frame %s: %v", frame, err)
	}
	return []byte(frame)
}

func TestDecodeAccepts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, frame        string
		kind               jsonrpc.Kind
		id, method         string
		params, result     string
		code               int
		message, errorData string
	}{
		{name: "request", frame: `{"jsonrpc":"2.0","id":1,"method":"ping"}`, kind: jsonrpc.Request, id: "1", method: "ping"},
		{
			name: "members in any order", frame: ` { "params" : {"a":[1]} , "method":"m", "id":"x" , "jsonrpc" : "2.0" } `,
			kind: jsonrpc.Request, id: `"x"`, method: "m", params: `{"a":[1]}`,
		},
		{name: "escaped names", frame: `{"\u006asonrpc":"2.\u0030","id":1,"method":"\u006d"}`, kind: jsonrpc.Request, id: "1", method: "m"},
		{name: "unknown members", frame: `{"jsonrpc":"2.0","id":1,"method":"m","Method":2,"x":null}`, kind: jsonrpc.Request, id: "1", method: "m"},
		{name: "empty string id", frame: `{"jsonrpc":"2.0","id":"","method":"m"}`, kind: jsonrpc.Request, id: `""`, method: "m"},
		{name: "negative id", frame: `{"jsonrpc":"2.0","id":-5,"method":"m"}`, kind: jsonrpc.Request, id: "-5", method: "m"},
		{name: "id beyond 2^63", frame: `{"jsonrpc":"2.0","id":123456789012345678901,"method":"m"}`, kind: jsonrpc.Request, id: "123456789012345678901", method: "m"},
		{name: "id with escapes", frame: `{"jsonrpc":"2.0","id":"\u0061\/","method":"m"}`, kind: jsonrpc.Request, id: `"\u0061\/"`, method: "m"},
		{name: "notification", frame: `{"jsonrpc":"2.0","method":"n","params":{}}`, kind: jsonrpc.Notification, method: "n", params: `{}`},
		{name: "params null are none", frame: `{"jsonrpc":"2.0","id":1,"method":"m","params":null}`, kind: jsonrpc.Request, id: "1", method: "m"},
		{name: "params of an empty list are none", frame: `{"jsonrpc":"2.0","method":"m","params":[ ]}`, kind: jsonrpc.Notification, method: "m"},
		{name: "result", frame: `{"jsonrpc":"2.0","id":1,"result":{"a":1}}`, kind: jsonrpc.Result, id: "1", result: `{"a":1}`},
		{
			name: "failure", frame: `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no","data":[1],"x":0}}`,
			kind: jsonrpc.Failure, id: "1", code: -32601, message: "no", errorData: `[1]`,
		},
		{name: "failure with null id", frame: `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}`, kind: jsonrpc.Failure, code: 1},
		{name: "failure without id", frame: `{"jsonrpc":"2.0","error":{"code":1,"message":"\n"}}`, kind: jsonrpc.Failure, code: 1, message: "\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m, fault := jsonrpc.Decode(check(t, tt.frame))
			if fault != nil {
				t.Fatalf("fault %+v", fault)
			}
			if m.Kind != tt.kind || m.ID.String() != tt.id || m.Method != tt.method ||
				string(m.Params) != tt.params || string(m.Result) != tt.result || (m.Params == nil) != (tt.params == "") {
				t.Errorf("got %+v", m)
			}
			if (m.Error != nil) != (tt.kind == jsonrpc.Failure) {
				t.Fatalf("error is %v", m.Error)
			}
			if e := m.Error; e != nil && (e.Code != tt.code || e.Message != tt.message || string(e.Data) != tt.errorData) {
				t.Errorf("got error %+v", e)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	long := `"` + strings.Repeat("x", 1023) + `"`
	tests := []struct {
		name, frame string
		id          string // in the fault
		silent      bool   // must not be answered
	}{
		{"number", `1`, "", false},
		{"string", `"jsonrpc"`, "", false},
		{"null", `null`, "", false},
		{"array", `[{"jsonrpc":"2.0","id":1,"method":"m"}]`, "", false},
		{"empty", `{}`, "", false},
		{"no version", `{"id":1,"method":"m"}`, "1", false},
		{"version 1.0", `{"jsonrpc":"1.0","id":1,"method":"m"}`, "1", false},
		{"version as number", `{"jsonrpc":2.0,"id":1,"method":"m"}`, "1", false},
		{"version in other case", `{"JSONRPC":"2.0","id":1,"method":"m"}`, "1", false},
		{"id null", `{"jsonrpc":"2.0","id":null,"method":"m"}`, "", false},
		{"id 1.0", `{"jsonrpc":"2.0","id":1.0,"method":"m"}`, "", false},
		{"id 1e2", `{"jsonrpc":"2.0","id":1e2,"method":"m"}`, "", false},
		{"id bool", `{"jsonrpc":"2.0","id":true,"method":"m"}`, "", false},
		{"id object", `{"jsonrpc":"2.0","id":{},"method":"m"}`, "", false},
		{"id array", `{"jsonrpc":"2.0","id":[1],"method":"m"}`, "", false},
		{"id too long", `{"jsonrpc":"2.0","id":` + long + `,"method":"m"}`, "", false},
		{"method number", `{"jsonrpc":"2.0","id":1,"method":1}`, "1", false},
		{"method null", `{"jsonrpc":"2.0","id":1,"method":null}`, "1", false},
		{"method empty", `{"jsonrpc":"2.0","id":1,"method":""}`, "1", false},
		{"params array", `{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}`, "1", false},
		{"params string", `{"jsonrpc":"2.0","params":"x","method":"m","id":1}`, "1", false},
		{"method and result", `{"jsonrpc":"2.0","id":1,"method":"m","result":{}}`, "1", false},
		{"method and error", `{"jsonrpc":"2.0","id":1,"method":"m","error":{"code":1,"message":""}}`, "1", false},
		{"neither", `{"jsonrpc":"2.0","id":1}`, "1", false},
		{"neither, params", `{"jsonrpc":"2.0","id":1,"params":{}}`, "1", false},
		{"repeated method", `{"jsonrpc":"2.0","method":"m","method":"n","id":1}`, "1", false},
		{"repeated, escaped", `{"jsonrpc":"2.0","method":"m","\u006dethod":"n","id":1}`, "1", false},
		{"repeated params", `{"jsonrpc":"2.0","method":"m","params":{},"params":{},"id":1}`, "1", false},
		{"repeated id", `{"jsonrpc":"2.0","id":1,"method":"m","id":2}`, "", false},
		{"repeated id, null", `{"jsonrpc":"2.0","id":null,"method":"m","id":2}`, "", false},
		{"repeated unknown", `{"jsonrpc":"2.0","id":1,"method":"m","x":1,"x":1}`, "1", false},

		{"notification without version", `{"method":"m"}`, "", true},
		{"notification, params array", `{"jsonrpc":"2.0","method":"m","params":[1]}`, "", true},
		{"notification, method number", `{"jsonrpc":"2.0","method":5}`, "", true},
		{"notification and result", `{"jsonrpc":"2.0","method":"m","result":1}`, "", true},
		{"notification, repeated", `{"jsonrpc":"2.0","method":"m","method":"m"}`, "", true},

		{"result and error", `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}`, "1", true},
		{"result without id", `{"jsonrpc":"2.0","result":{}}`, "", true},
		{"result, id null", `{"jsonrpc":"2.0","id":null,"result":{}}`, "", true},
		{"result, id float", `{"jsonrpc":"2.0","id":1.5,"result":{}}`, "", true},
		{"result, no version", `{"id":1,"result":{}}`, "1", true},
		{"error, id float", `{"jsonrpc":"2.0","id":1.5,"error":{"code":1,"message":""}}`, "", true},
		{"error null", `{"jsonrpc":"2.0","id":1,"error":null}`, "1", true},
		{"error string", `{"jsonrpc":"2.0","id":1,"error":"x"}`, "1", true},
		{"error without code", `{"jsonrpc":"2.0","id":1,"error":{"message":""}}`, "1", true},
		{"error code float", `{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":""}}`, "1", true},
		{"error code string", `{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":""}}`, "1", true},
		{"error without message", `{"jsonrpc":"2.0","id":1,"error":{"code":1}}`, "1", true},
		{"error message null", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":null}}`, "1", true},
		{"error, repeated code", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"code":2,"message":""}}`, "1", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m, fault := jsonrpc.Decode(check(t, tt.frame))
			if fault == nil {
				t.Fatalf("accepted as %+v", m)
			}
			if m.Kind != 0 || fault.Code != jsonrpc.CodeInvalidRequest || fault.Reason == "" {
				t.Errorf("message %+v, fault %+v", m, fault)
			}
			if fault.ID.String() != tt.id || fault.Notification != tt.silent {
				t.Errorf("fault %+v, want id %q, silent %v", fault, tt.id, tt.silent)
			}
		})
	}
}

func TestBatch(t *testing.T) {
	t.Parallel()
	frame := check(t, ` [ {"a":[1]} , 2 ] `)
	if !jsonrpc.IsBatch(frame) || jsonrpc.IsBatch(check(t, `{}`)) {
		t.Error("IsBatch is wrong")
	}
	messages, fault := jsonrpc.Batch(frame)
	if fault != nil || len(messages) != 2 || string(messages[0]) != `{"a":[1]}` || string(messages[1]) != "2" {
		t.Errorf("got %q, %+v", messages, fault)
	}
	for _, frame := range []string{`[]`, ` [ ] `, `{}`, `1`} {
		if messages, fault := jsonrpc.Batch(check(t, frame)); fault == nil || fault.Code != jsonrpc.CodeInvalidRequest || fault.Notification {
			t.Errorf("Batch(%s) = %q, %+v", frame, messages, fault)
		}
	}
}

var call = []byte(`{"jsonrpc":"2.0","id":42,"method":"tools/call","params":{"name":"search","arguments":{"q":"x","n":[1,2,3]}}}`)

// A call costs the copy of its method, nothing else; an id that is a number costs none.
func TestDecodeAllocations(t *testing.T) {
	for frame, most := range map[string]float64{
		string(call): 1,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`: 1,
		`{"jsonrpc":"2.0","id":42,"result":{}}`:                  0,
	} {
		data := []byte(frame)
		if n := testing.AllocsPerRun(100, func() {
			if _, fault := jsonrpc.Decode(data); fault != nil {
				t.Fatal(fault.Reason)
			}
		}); n > most {
			t.Errorf("Decode(%s) allocates %v times, want %v", frame, n, most)
		}
	}
}

// A frame of many unknown members must not take quadratic time.
func TestDecodeManyUnknownMembers(t *testing.T) {
	t.Parallel()
	frame := `{"jsonrpc":"2.0","id":1,"method":"m"`
	var b strings.Builder
	b.WriteString(frame)
	for i := range 50_000 {
		b.WriteString(`,"u` + strings.Repeat("x", i%7) + string(rune(0x4e00+i%20000)) + string(rune('a'+i/20000)) + `":0`)
	}
	b.WriteString("}")
	if _, fault := jsonrpc.Decode(check(t, b.String())); fault != nil {
		t.Fatal(fault.Reason)
	}
}

func BenchmarkDecode(b *testing.B) {
	b.SetBytes(int64(len(call)))
	b.ReportAllocs()
	for b.Loop() {
		if _, fault := jsonrpc.Decode(call); fault != nil {
			b.Fatal(fault.Reason)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(call)
	f.Add([]byte(`{"jsonrpc":"2.0","id":"\u0061","error":{"code":-1,"message":"é","data":{"x":[null]}}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":1e2,"message":""}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":-0,"result":null}`))
	f.Add([]byte(`{"jsonrpc":"2.0","method":"\u2028","params":{}}`))
	f.Fuzz(func(t *testing.T, frame []byte) {
		checked := jsontext.Check(frame, jsontext.DefaultLimits()) == nil
		m, fault := jsonrpc.Decode(frame) // an unchecked frame must not panic either
		if !checked || fault != nil {
			return
		}
		first := write(m)
		if err := jsontext.Check(first, jsontext.DefaultLimits()); err != nil {
			t.Fatalf("%s was written as %s: %v", frame, first, err)
		}
		again, fault := jsonrpc.Decode(first)
		if fault != nil {
			t.Fatalf("%s was written as %s: %+v", frame, first, fault)
		}
		if second := write(again); string(first) != string(second) || again.Kind != m.Kind || again.ID != m.ID {
			t.Fatalf("%s was written as %s, then as %s", frame, first, second)
		}
	})
}

func write(m jsonrpc.Message) []byte {
	switch m.Kind {
	case jsonrpc.Request:
		return jsonrpc.AppendRequest(nil, m.ID, m.Method, m.Params)
	case jsonrpc.Notification:
		return jsonrpc.AppendNotification(nil, m.Method, m.Params)
	case jsonrpc.Result:
		return jsonrpc.AppendResult(nil, m.ID, m.Result)
	default:
		return jsonrpc.AppendError(nil, m.ID, m.Error, false)
	}
}

// TestDecodeUnusedMembers: programs with one type for all messages write the members that a message does not use
// as null.
func TestDecodeUnusedMembers(t *testing.T) {
	t.Parallel()
	for frame, want := range map[string]jsonrpc.Kind{
		`{"jsonrpc":"2.0","id":1,"result":{"a":1},"error":null}`:                                jsonrpc.Result,
		`{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":1,"message":"m"}}`:               jsonrpc.Failure,
		`{"jsonrpc":"2.0","id":1,"method":null,"params":null,"result":{},"error":null}`:         jsonrpc.Result,
		`{"jsonrpc":"2.0","id":1,"method":null,"params":null,"error":{"code":1,"message":"m"}}`: jsonrpc.Failure,
		`{"jsonrpc":"2.0","id":1,"method":"m","params":null,"result":null,"error":null}`:        jsonrpc.Request,
		`{"jsonrpc":"2.0","method":"m","result":null,"error":null}`:                             jsonrpc.Notification,
	} {
		m, fault := jsonrpc.Decode(check(t, frame))
		if fault != nil || m.Kind != want {
			t.Errorf("%s: kind %d, fault %+v, want kind %d", frame, m.Kind, fault, want)
		}
	}
}
