package app

import (
	"encoding/json"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/testkit"
)

// asking is the list of revisions on which the server can ask clients.
func asking(t *testing.T, body func(*testkit.Session), revs ...protocol.Revision) {
	t.Helper()
	for _, rev := range revs {
		t.Run(rev.String(), func(t *testing.T) {
			t.Parallel()
			body(testkit.New(t, New, testkit.At(rev)))
		})
	}
}

func TestSampling(t *testing.T) {
	t.Parallel()
	asking(t, func(s *testkit.Session) {
		s.OnSample("Say hi", "hi")
		s.CallRaw("test_sampling", `{"prompt":"Say hi"}`).OK().Mentions("LLM response: hi")
	}, protocol.Rev20241105, protocol.Rev20250326, protocol.Rev20250618, protocol.Rev20251125)
}

func TestElicitation(t *testing.T) {
	t.Parallel()
	asking(t, func(s *testkit.Session) {
		s.OnElicit("Who are you?", map[string]string{"username": "ada", "email": "ada@example.com"})
		s.CallRaw("test_elicitation", `{"message":"Who are you?"}`).
			OK().Mentions(`User response: action=accept, content={"username":"ada","email":"ada@example.com"}`)
		s.OnElicit("Who are you?", testkit.Decline)
		s.CallRaw("test_elicitation", `{"message":"Who are you?"}`).OK().Mentions("User response: action=decline, content={}")
		s.OnElicit("Who are you?", testkit.Cancel)
		s.CallRaw("test_elicitation", `{"message":"Who are you?"}`).OK().Mentions("User response: action=cancel, content={}")
	}, protocol.Rev20250618, protocol.Rev20251125)
}

func TestElicitationDefaults(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, New, testkit.At(protocol.Rev20251125))
	var asked struct {
		Properties map[string]struct {
			Type    string
			Default any
			Enum    []string
		}
	}
	s.OnElicit("defaults", func(f testkit.Form) any {
		if err := json.Unmarshal(f.Schema, &asked); err != nil {
			t.Error(err)
		}
		return map[string]any{"name": "Jane Smith", "age": 25, "score": 88, "status": "inactive", "verified": false}
	})
	s.CallRaw("test_elicitation_sep1034_defaults", "{}").
		OK().Mentions(`Elicitation completed: action=accept, content={"name":"Jane Smith","age":25,"score":88,"status":"inactive","verified":false}`)
	for name, want := range map[string]struct {
		typ   string
		value any
	}{
		"name": {"string", "John Doe"}, "age": {"integer", 30.0}, "score": {"number", 95.5},
		"status": {"string", "active"}, "verified": {"boolean", true},
	} {
		if got := asked.Properties[name]; got.Type != want.typ || got.Default != want.value {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	if got := asked.Properties["status"].Enum; len(got) != 3 {
		t.Errorf("status: %q", got)
	}
}

func TestElicitationEnums(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, New, testkit.At(protocol.Rev20251125))
	var asked []byte
	s.OnElicit("enum fields", func(f testkit.Form) any {
		asked = f.Schema
		return map[string]any{"untitledSingle": "option1", "titledMulti": []string{"value1", "value3"}}
	})
	s.CallRaw("test_elicitation_sep1330_enums", "{}").
		OK().Mentions("Elicitation completed: action=accept", `"untitledSingle":"option1"`, `"titledMulti":["value1","value3"]`)
	if got, want := canonical(t, asked), canonical(t, []byte(enumForm)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The framework answers if the client lacks a capability, in the form of the revision.
func TestMissingCapability(t *testing.T) {
	t.Parallel()
	for _, rev := range protocol.Revisions() {
		t.Run(rev.String(), func(t *testing.T) {
			t.Parallel()
			s := testkit.New(t, New, testkit.At(rev), testkit.Without("sampling", "elicitation"))
			answer := s.CallRaw("test_missing_capability", "{}").IsError()
			if rev == protocol.Rev20260728 {
				const missingCapability = -32021
				answer.Code(missingCapability)
			}
			s.CallRaw("test_elicitation", `{"message":"?"}`).IsError()
		})
	}
}
