package app

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The official suite reads its fixtures from the first page, always in this order.
func TestLists(t *testing.T) {
	testkit.AllRevisions(t, New, func(t *testing.T, s *testkit.Session) {
		tools := s.Tools()
		if len(tools) <= pageSize {
			t.Errorf("%d tools do not page", len(tools))
		}
		if tools[0].Name != "test_simple_text" {
			t.Errorf("the first tool is %s", tools[0].Name)
		}
		var first []string
		for _, tool := range tools[:pageSize] {
			first = append(first, tool.Name)
		}
		for _, name := range []string{
			"test_image_content", "test_audio_content", "test_embedded_resource", "test_multiple_content_types",
			"test_error_handling", "test_tool_with_logging", "test_tool_with_progress", "test_sampling", "test_elicitation",
			"test_elicitation_sep1034_defaults", "test_elicitation_sep1330_enums", "json_schema_2020_12_tool",
			"test_x_mcp_header", "test_missing_capability", "test_reconnection", "test_streaming_elicitation", "test_logging_tool",
			"test_trigger_tool_change", "test_trigger_prompt_change",
		} {
			if !slices.Contains(first, name) {
				t.Errorf("%s is not on the first page: %q", name, first)
			}
		}
		for _, tool := range tools {
			if tool.Description == "" || len(tool.InputSchema) == 0 {
				t.Errorf("%s has no description or no schema", tool.Name)
			}
		}
		if got := s.Resources(); len(got) != 3 || got[0].URI != "test://static-text" {
			t.Errorf("resources: %+v", got)
		}
		if got := s.Templates(); len(got) != 1 || got[0].URITemplate != "test://template/{id}/data" {
			t.Errorf("templates: %+v", got)
		}
		if got := s.Prompts(); len(got) != 6 || got[0].Name != "test_simple_prompt" || len(got[1].Arguments) != 2 || !got[1].Arguments[0].Required {
			t.Errorf("prompts: %+v", got)
		}
	})
}

func TestSchemas(t *testing.T) {
	testkit.AllRevisions(t, New, func(t *testing.T, s *testkit.Session) {
		for _, tool := range s.Tools() {
			switch tool.Name {
			case "json_schema_2020_12_tool":
				if got, want := canonical(t, tool.InputSchema), canonical(t, []byte(contactSchema)); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			case "test_x_mcp_header":
				for _, header := range []string{"Region", "Replicas", "Dry-Run"} {
					if !strings.Contains(string(tool.InputSchema), `"x-mcp-header":"`+header+`"`) {
						t.Errorf("no header %s in %s", header, tool.InputSchema)
					}
				}
			}
		}
		s.CallRaw("json_schema_2020_12_tool", `{"name":"A","contactMethod":"phone","phone":"1"}`).OK().Mentions("JSON Schema 2020-12 tool called with:", `"phone":"1"`)
		s.CallRaw("json_schema_2020_12_tool", `{"name":"A","contactMethod":"phone","email":"a"}`).IsError().Mentions("phone")
		s.CallRaw("json_schema_2020_12_tool", `{"phone":"1","email":"a","extra":1}`).IsError().Mentions("extra")
		s.CallRaw("test_x_mcp_header", `{"region":"eu"}`).OK().Mentions("Region: eu")
		s.CallRaw("test_x_mcp_header", `{"region":"eu","replicas":42,"dryRun":true}`).OK().Mentions("Region: eu, replicas: 42, dry run: true")
		s.CallRaw("test_x_mcp_header", `{}`).OK().Mentions("No region given.")
	})
}

func canonical(t *testing.T, raw []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestContent(t *testing.T) {
	testkit.BothEras(t, New, func(t *testing.T, s *testkit.Session) {
		if got := s.CallRaw("test_simple_text", "{}").OK().Text(); got != "This is a simple text response for testing." {
			t.Errorf("text: %q", got)
		}
		if got, ok := s.CallRaw("test_image_content", "{}").OK().Blocks()[0].(protocol.Image); !ok || got.MIME != "image/png" || !strings.HasPrefix(string(got.Data), "\x89PNG") {
			t.Errorf("image: %+v", got)
		}
		if got, ok := s.CallRaw("test_audio_content", "{}").OK().Blocks()[0].(protocol.Audio); !ok || got.MIME != "audio/wav" || !strings.HasPrefix(string(got.Data), "RIFF") {
			t.Errorf("audio: %+v", got)
		}
		got, ok := s.CallRaw("test_embedded_resource", "{}").OK().Blocks()[0].(protocol.Embedded)
		if want := (protocol.Contents{URI: "test://embedded-resource", MIME: "text/plain", Text: "This is an embedded resource content."}); !ok ||
			got.Contents.URI != want.URI || got.Contents.MIME != want.MIME || got.Contents.Text != want.Text {
			t.Errorf("resource: %+v", got)
		}
		blocks := s.CallRaw("test_multiple_content_types", "{}").OK().Blocks()
		if len(blocks) != 3 {
			t.Fatalf("%d blocks", len(blocks))
		}
		_, isText := blocks[0].(protocol.Text)
		_, isImage := blocks[1].(protocol.Image)
		resource, isResource := blocks[2].(protocol.Embedded)
		if !isText || !isImage || !isResource || resource.Contents.Text != `{"test":"data","value":123}` {
			t.Errorf("blocks: %+v", blocks)
		}
		answer := s.CallRaw("test_error_handling", "{}").IsError()
		if answer.Text() != "This tool intentionally returns an error for testing" {
			t.Errorf("error: %q", answer.Text())
		}
	})
}

func TestLogging(t *testing.T) {
	testkit.AllRevisions(t, New, func(t *testing.T, s *testkit.Session) {
		s.CallRaw("test_tool_with_logging", "{}").OK()
		s.CallRaw("test_logging_tool", "{}").OK()
		before := len(s.Logs())
		s.LogLevel("debug")
		s.CallRaw("test_tool_with_logging", "{}").OK()
		s.CallRaw("test_logging_tool", "{}").OK()
		logs := s.Logs()[before:]
		if len(logs) != 4 || logs[0].Level != "info" || !strings.Contains(string(logs[2].Data), "Tool execution completed") {
			t.Errorf("logs: %+v", logs)
		}
		s.LogLevel("error")
		s.CallRaw("test_logging_tool", "{}").OK()
		if now := s.Logs(); len(now) != before+len(logs) {
			t.Errorf("an info message at level error: %+v", now)
		}
	})
}

// 2026-07-28 basic/utilities/logging: a client that has not asked for log messages gets none.
func TestNoLogsWithoutRequest(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, New, testkit.At(protocol.Rev20260728))
	s.CallRaw("test_logging_tool", "{}").OK()
	if logs := s.Logs(); len(logs) > 0 {
		t.Errorf("logs: %+v", logs)
	}
}

func TestProgress(t *testing.T) {
	testkit.AllRevisions(t, New, func(t *testing.T, s *testkit.Session) {
		s.CallRaw("test_tool_with_progress", "{}").OK()
		var done []float64
		for _, p := range s.Progress() {
			done = append(done, p.Done)
			if p.Total != 100 {
				t.Errorf("total %g", p.Total)
			}
		}
		if !slices.Equal(done, []float64{0, 50, 100}) {
			t.Errorf("progress: %v", done)
		}
	})
}

func TestBurst(t *testing.T) {
	testkit.AllRevisions(t, New, func(t *testing.T, s *testkit.Session) {
		const n = 200
		s.LogLevel("info")
		s.CallRaw("burst", `{"n":200}`).OK().Mentions("Sent 200 of each.")
		progress, logs := s.Progress(), s.Logs()
		if len(progress) != n || len(logs) != n {
			t.Fatalf("%d progress, %d logs", len(progress), len(logs))
		}
		for i, p := range progress {
			if p.Done != float64(i+1) {
				t.Fatalf("progress %d is %g", i, p.Done)
			}
		}
		if !strings.Contains(string(logs[n-1].Data), "log 200") {
			t.Errorf("the last log is %s", logs[n-1].Data)
		}
	})
}

func TestPrompts(t *testing.T) {
	testkit.BothEras(t, New, func(t *testing.T, s *testkit.Session) {
		s.Get("test_simple_prompt", nil).OK().Mentions("This is a simple prompt for testing.")
		s.Get("test_prompt_with_arguments", map[string]string{"arg1": "testValue1", "arg2": "testValue2"}).
			OK().Mentions("Prompt with arguments: arg1='testValue1', arg2='testValue2'")
		s.Get("test_prompt_with_arguments", map[string]string{"arg1": "x"}).Code(protocol.CodeInvalidParams).Mentions("arg2")
		messages := s.Get("test_prompt_with_embedded_resource", map[string]string{"resourceUri": "test://x"}).OK().Messages()
		if got, ok := messages[0].Content.(protocol.Embedded); !ok || len(messages) != 2 || got.Contents.URI != "test://x" {
			t.Errorf("messages: %+v", messages)
		}
		messages = s.Get("test_prompt_with_image", nil).OK().Messages()
		if got, ok := messages[0].Content.(protocol.Image); !ok || len(messages) != 2 || got.MIME != "image/png" {
			t.Errorf("messages: %+v", messages)
		}
		if got := s.Complete("test_prompt_with_arguments", "arg1", "par", nil); !slices.Equal(got, []string{"paris", "park", "party"}) {
			t.Errorf("completion: %q", got)
		}
	})
}

func TestResources(t *testing.T) {
	testkit.BothEras(t, New, func(t *testing.T, s *testkit.Session) {
		text := s.Read("test://static-text").OK().Contents()
		if len(text) != 1 || text[0].URI != "test://static-text" || text[0].MIME != "text/plain" ||
			text[0].Text != "This is the content of the static text resource." {
			t.Errorf("text: %+v", text)
		}
		binary := s.Read("test://static-binary").OK().Contents()
		if len(binary) != 1 || binary[0].MIME != "image/png" || !strings.HasPrefix(string(binary[0].Data), "\x89PNG") {
			t.Errorf("binary: %+v", binary)
		}
		data := s.Read("test://template/123/data").OK().Contents()
		if len(data) != 1 || data[0].MIME != "application/json" || data[0].URI != "test://template/123/data" ||
			data[0].Text != `{"id":"123","templateTest":true,"data":"Data for ID: 123"}` {
			t.Errorf("template: %+v", data)
		}
		s.Read("test://nonexistent-resource-for-conformance-testing").IsError()
	})
}

func TestWatched(t *testing.T) {
	testkit.AllRevisions(t, New, func(t *testing.T, s *testkit.Session) {
		s.Read(watchedURI).OK().Mentions("Watched resource content").Omits("update")
		s.Subscribe(watchedURI)
		s.CallRaw("update_watched", "{}").OK()
		n := s.AwaitNotification(protocol.NotificationResourceUpdated)
		if !strings.Contains(string(n.Params), watchedURI) {
			t.Errorf("updated: %s", n.Params)
		}
		s.Read(watchedURI).OK().Mentions("Watched resource content (update 1)")
	})
}

// Each change is notified, and the lists stay the same.
func TestTriggers(t *testing.T) {
	testkit.AllRevisions(t, New, func(t *testing.T, s *testkit.Session) {
		tools, prompts := names(s)
		for range 3 {
			s.CallRaw("test_trigger_tool_change", "{}").OK()
			s.AwaitNotification(protocol.NotificationToolsChanged)
			s.CallRaw("test_trigger_prompt_change", "{}").OK()
			s.AwaitNotification(protocol.NotificationPromptsChanged)
			if toolsNow, promptsNow := names(s); !slices.Equal(tools, toolsNow) || !slices.Equal(prompts, promptsNow) {
				t.Errorf("the lists changed:\n%q\n%q", toolsNow, promptsNow)
			}
		}
		s.CallRaw("test_dynamic_tool", "{}").OK()
		s.Get("test_dynamic_prompt", nil).OK()
	})
}

func names(s *testkit.Session) (tools, prompts []string) {
	for _, tool := range s.Tools() {
		tools = append(tools, tool.Name)
	}
	for _, p := range s.Prompts() {
		prompts = append(prompts, p.Name)
	}
	return tools, prompts
}
