package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"math"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// A long value does not widen all other lines.
func TestPrintWide(t *testing.T) {
	t.Parallel()
	long, rows := strings.Repeat("x", 10_000), strings.Repeat(`,{"a":"1","b":"2"}`, 1000)
	for _, structured := range []string{
		`[{"a":"` + long + `","b":"2"}` + rows + `]`,
		`[{"` + long + `":"1","b":"2"},{"` + long + `":"1","b":"2"}]`,
		`{"` + long + `":1` + strings.Repeat(`,"a":1`, 1000) + `}`,
	} {
		var out strings.Builder
		printResult(&out, &protocol.CallToolResult{Structured: json.RawMessage(structured)})
		if n := out.Len(); n < len(long) || n > 200_000 || strings.Contains(out.String(), strings.Repeat(" ", 100)) {
			t.Errorf("%.20s: %d bytes", structured, n)
		}
	}
	var out strings.Builder
	printResult(&out, &protocol.CallToolResult{Structured: json.RawMessage(`[{"a":"1","b":"` + long + `"},{"a":"2","b":"y"}]`)})
	if want := "a  b\n1  " + long + "\n2  y\n"; out.String() != want {
		t.Errorf("a long last column prevents the table: %.100s", out.String())
	}
}

// TestPrintWideCharacters checks that characters of two columns, and marks of none, keep columns aligned.
func TestPrintWideCharacters(t *testing.T) {
	t.Parallel()
	for structured, want := range map[string]string{
		`[{"都市":"京都","n":1},{"都市":"Oslo","n":2},{"都市":"A\u030as","n":3}]`: "都市  n\n京都  1\nOslo  2\nA\u030as    3\n",
		`{"都市":"京都","n":1}`: "都市  京都\nn     1\n",
	} {
		var out strings.Builder
		printResult(&out, &protocol.CallToolResult{Structured: json.RawMessage(structured)})
		if out.String() != want {
			t.Errorf("got\n%swant\n%s", out.String(), want)
		}
	}
	got := listed(&surface.Surface{Tools: []protocol.Tool{{Name: "天気", Description: "Weather."}, {Name: "news", Description: "News."}}})
	if want := "tool      天気  Weather.\ntool      news  News.\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// A server may give a task a lifetime that time.Duration cannot represent.
func TestPrintTask(t *testing.T) {
	t.Parallel()
	created := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	for ttl, year := range map[int64]string{60_000: "2026", math.MaxInt64: "2319", 1e15: "2319", math.MinInt64: "2026"} {
		var out strings.Builder
		printTask(&out, &protocol.Task{Status: protocol.TaskWorking, Created: created, Updated: created, TTL: &ttl})
		if !strings.Contains(out.String(), "expires "+year) {
			t.Errorf("%d: %s", ttl, out.String())
		}
	}
}

func TestPrintResult(t *testing.T) {
	t.Parallel()
	forecast := json.RawMessage(`{"city":"Kyoto","country":"JP","days":[` +
		`{"date":"2026-11-21","highC":14.5,"lowC":5,"summary":"sunny"},` +
		`{"date":"2026-11-22","highC":9,"lowC":-1,"summary":"rain, then sun"}]}`)
	tests := map[string]*protocol.CallToolResult{
		"text":           {Content: []protocol.Block{protocol.Text{Text: "one\ntwo\n"}, protocol.Text{Text: "three"}}},
		"empty":          {},
		"repeated":       {Content: []protocol.Block{protocol.Text{Text: string(forecast)}}, Structured: forecast},
		"wrapped":        {Content: []protocol.Block{protocol.Text{Text: `["a","b"]`}}, Structured: json.RawMessage(`{"result":["a","b"]}`)},
		"wrapped_string": {Content: []protocol.Block{protocol.Text{Text: "plain"}}, Structured: json.RawMessage(`{"result":"plain"}`)},
		"own_text": {
			Content:    []protocol.Block{protocol.Text{Text: "Two days in Kyoto."}},
			Structured: json.RawMessage(`{"days":2}`),
		},
		"nested": {Structured: json.RawMessage(`{"name":"x","tags":["a","b"],"none":[],"empty":{},` +
			`"inner":{"deep":{"n":12345678901234567890}},"note":"first\nsecond","mixed":[{"a":1},{"b":[{"c":1}]}],"nothing":null}`)},
		"scalars": {Structured: json.RawMessage(`["a","b c",3]`)},
		"scalar":  {Structured: json.RawMessage(`42`)},
		"table":   {Structured: json.RawMessage(`[{"a":"1","b":["x","y"]},{"a":"long text","b":[]}]`)},
		"blocks": {Content: []protocol.Block{
			protocol.Image{Data: make([]byte, 1234), MIME: "image/png"},
			protocol.Audio{Data: []byte{1}, MIME: "audio/wav"},
			protocol.Embedded{Contents: protocol.Contents{URI: "test://a", MIME: "application/json", Text: `{"a":[1]}`}},
			protocol.Embedded{Contents: protocol.Contents{URI: "test://b", Data: make([]byte, 2_500_000)}},
			protocol.Link{URI: "https://example.com", Name: "page", Title: "A page", Description: "To read.", MIME: "text/html", Size: 10},
			protocol.Link{URI: "https://example.com/2", Name: "second"},
		}},
	}
	for name, result := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			printResult(&out, result)
			golden(t, "result_"+name, out.Bytes())
		})
	}
}

func TestPrintMessages(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	printMessages(&out, &protocol.GetPromptResult{
		Description: "A plan.",
		Messages: []protocol.Message{
			{Role: protocol.RoleUser, Content: protocol.Text{Text: "Plan\na trip."}},
			{Role: protocol.RoleAssistant, Content: protocol.Image{Data: []byte("x"), MIME: "image/png"}},
		},
	})
	golden(t, "messages", out.Bytes())
}

func TestPrintNotification(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	for _, n := range []protocol.Notification{
		{Method: protocol.NotificationProgress, Params: json.RawMessage(`{"progressToken":1,"progress":50,"total":100,"message":"half"}`)},
		{Method: protocol.NotificationProgress, Params: json.RawMessage(`{"progressToken":1,"progress":1.5}`)},
		{Method: protocol.NotificationMessage, Params: json.RawMessage(`{"level":"info","data":"text"}`)},
		{Method: protocol.NotificationMessage, Params: json.RawMessage(`{"level":"error","data":{"a":1}}`)},
		{Method: protocol.NotificationMessage, Params: json.RawMessage(`{"level":"info","data":{"k":1,"message":"text","o":{"a":[]}}}`)},
		{Method: protocol.NotificationMessage, Params: json.RawMessage(`{"level":"info\nkagami: x","data":"two\nlines"}`)},
		{Method: protocol.NotificationProgress, Params: json.RawMessage(`{"progressToken":1,"progress":2,"message":"two\nlines"}`)},
		{Method: protocol.NotificationMessage, Params: json.RawMessage(`broken`)},
		{Method: protocol.NotificationProgress, Params: json.RawMessage(`broken`)},
		{Method: "notifications/other"},
	} {
		printNotification(&out, n)
	}
	golden(t, "notifications", out.Bytes())
}

// TestNotificationsAreVisible checks that control characters of a server do not reach the terminal.
func TestNotificationsAreVisible(t *testing.T) {
	t.Parallel()
	app := framework.New("chatty", "1", framework.WithLogger(zap.NewNop())).Add(framework.Tool("chat", func(ctx context.Context, _ struct{}) (string, error) {
		framework.Log(ctx).Info("\x1b]0;pwned\x07")
		framework.Progress(ctx, 1, 2, "\x1b[2J")
		return "ok", nil
	}, framework.Describe("d")))
	server, err := app.Build()
	if err != nil {
		t.Fatal(err)
	}
	site := httptest.NewServer(nethttp.Handler(server))
	defer site.Close()
	out, errs, code := kagami(t, "call", site.URL, "chat", "--progress")
	if code != 0 || out != "ok\n" || strings.Contains(errs, "\x1b") || !strings.Contains(errs, `\x1b[2J`) || !strings.Contains(errs, "pwned") {
		t.Errorf("exit code %d, %q, %q", code, out, errs)
	}
}

func TestVisible(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	text := "a\x1b]0;title\x07\tb\u009b\r\nü"
	if n, err := (visible{&out}).Write([]byte(text)); n != len(text) || err != nil {
		t.Errorf("Write = %d, %v", n, err)
	}
	if want := "a\\x1b]0;title\\x07\tb\\x9b\\x0d\nü"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s\n--- got\n%s--- want\n%s", path, got, want)
	}
}
