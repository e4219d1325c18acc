package record_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework/serve/record"
)

// TestWriteAndRead: what differs in each run has a name, secrets are gone, and the rest is as it was.
func TestWriteAndRead(t *testing.T) {
	t.Parallel()
	frames := []record.Frame{
		{Sent: true, Text: []byte(`{"id":9007199254740993,"params":{"apiKey":"sesame","privateKey":"line\nopen-up","pin":1234,"city":"Kyoto"}}`)},
		{Text: []byte(`{"id":1,"result":{"taskId":"b2f1c7d0","at":"2026-11-27T08:00:00Z","text":"key sesame, Bearer abcdefghijkl"}}`)},
		{Text: []byte(`{"id":2,"result":{"createdAt":"2026-11-27T08:00:00.45512348Z","text":"until 2026-11-27T08:00:00.1234Z, 1234, 51234"}}`)},
		{Text: []byte("Listening on port 80")},
		{Text: []byte(`{"id":4,"result":{"content":[{"type":"text","text":"\n {\"sessionToken\":\"tok-after-space\"}\n"}]}}`)},
		{Text: []byte(`{"id":3,"result":{"content":[{"type":"text","text":"{\"echo\":\"line\\nopen-up\"}"}]}}`)},
	}
	var text bytes.Buffer
	head := record.Head{Revision: "2026-07-28", User: "ada", Claims: json.RawMessage(`{"token":"sesame","team":"red"}`)}
	if err := record.Write(&text, head, []string{"PIN"}, frames); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"sesame", "open-up", "1234", "b2f1c7d0", "08:00:00", "abcdefghijkl", "tok-after-space"} {
		if strings.Contains(text.String(), secret) {
			t.Errorf("the record has %s:\n%s", secret, text.String())
		}
	}
	for _, kept := range []string{"9007199254740993", "Kyoto", record.Redacted, record.Sometime, "<taskId 1>", "red", `"createdAt":"` + record.Sometime + `"`, "until " + record.Sometime + ", " + record.Redacted + ", 5" + record.Redacted, `"Listening on port 80"`, `"text":"\n {\"sessionToken\":\"` + record.Redacted + `\"}\n"`} {
		if !strings.Contains(text.String(), kept) {
			t.Errorf("the record lacks %s:\n%s", kept, text.String())
		}
	}
	got, lines, err := record.Read(text.Bytes())
	if err != nil || got.User != "ada" || len(lines) != 6 || lines[0].Client == nil || lines[1].Server == nil {
		t.Errorf("Read: %+v, %+v, %v", got, lines, err)
	}
	for _, broken := range []string{"", "{}", `{"testkit":2}`, `{"testkit":1}` + "\n{}", `{"testkit":1}` + "\nx"} {
		if _, _, err := record.Read([]byte(broken)); err == nil {
			t.Errorf("Read(%q) is no error", broken)
		}
	}
}

// TestProtocolWordsAreKept checks that the revision and the name of the called tool are not
// redacted, even if Redact lists "name" or they contain a secret.
func TestProtocolWordsAreKept(t *testing.T) {
	t.Parallel()
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	for name, tt := range map[string]struct {
		secret      []string
		frame, want string
	}{
		"a number in a revision": {
			[]string{"year"},
			`{"method":"tools/call","params":{"name":"report",` + meta + `,"arguments":{"year":2026}}}`,
			`{"method":"tools/call","params":{` + meta + `,"arguments":{"year":"<redacted>"},"name":"report"}}`,
		},
		"a number in the revision of initialize": {
			[]string{"year"},
			`{"method":"initialize","params":{"protocolVersion":"2025-11-25","x":{"year":2025}}}`,
			`{"method":"initialize","params":{"protocolVersion":"2025-11-25","x":{"year":"<redacted>"}}}`,
		},
		"a secret in the name of a tool": {
			nil,
			`{"method":"tools/call","params":{"name":"test_door","arguments":{"password":"test"}}}`,
			`{"method":"tools/call","params":{"arguments":{"password":"<redacted>"},"name":"test_door"}}`,
		},
		"names in a batch": {
			[]string{"name"},
			`[{"method":"tools/call","params":{"name":"greet","arguments":{"name":"Annabel","door":"greet"}}},{"method":"x"},{"method":"prompts/get","params":{"name":"poem"}}]`,
			`[{"method":"tools/call","params":{"arguments":{"door":"greet","name":"<redacted>"},"name":"greet"}},{"method":"x"},{"method":"prompts/get","params":{"name":"poem"}}]`,
		},
		"the name of a prompt": {
			[]string{"name"},
			`{"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"poem"},"argument":{"name":"of","value":"Ann"}}}`,
			`{"method":"completion/complete","params":{"argument":{"name":"of","value":"Ann"},"ref":{"name":"poem","type":"ref/prompt"}}}`,
		},
	} {
		var text bytes.Buffer
		if err := record.Write(&text, record.Head{}, tt.secret, []record.Frame{{Sent: true, Text: []byte(tt.frame)}}); err != nil {
			t.Fatal(err)
		}
		_, got, _ := strings.Cut(text.String(), "\n")
		var have, want any
		if json.Unmarshal([]byte(got), &have) != nil || json.Unmarshal([]byte(`{"client":`+tt.want+`}`), &want) != nil || !reflect.DeepEqual(have, want) {
			t.Errorf("%s: %swant %s", name, got, tt.want)
		}
	}
}
