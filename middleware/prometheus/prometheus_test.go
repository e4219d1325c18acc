package prometheus_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel/attribute"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/middleware"
	"github.com/kagami-mcp/kagami/middleware/prometheus"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scrape reads the page as a Prometheus would, over a socket.
func scrape(t *testing.T, m *prometheus.Metrics, accept string) (page, contentType string) {
	t.Helper()
	server := httptest.NewServer(m.Handler())
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", accept)
	got, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	body, err := io.ReadAll(got.Body)
	if err != nil || got.StatusCode != http.StatusOK {
		t.Fatalf("%d: %v", got.StatusCode, err)
	}
	return string(body), got.Header.Get("Content-Type")
}

// use calls the tools ok, twice, and broken, once, at the newest revision.
func use(t *testing.T, m *prometheus.Metrics) {
	t.Helper()
	app := framework.New("test", "1", framework.WithLogger(zap.NewNop())).Use(middleware.MetricsWith(m)).Add(
		framework.Tool("ok", func(context.Context, struct{}) (string, error) { return "", nil }),
		framework.Tool("broken", func(context.Context, struct{}) (string, error) { return "", errors.New("no") }),
		framework.ResourceTemplate("a://{x}", func(_ context.Context, in struct {
			X string `uri:"x"`
		},
		) (string, error) {
			return in.X, nil
		}),
	)
	s, err := app.Build()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Shutdown(context.WithoutCancel(t.Context())) }()
	c, err := client.Connect(t.Context(), client.InMemory(s), client.Revisions(protocol.Rev20260728))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for _, name := range []string{"ok", "ok", "broken"} {
		if _, err := c.CallTool(t.Context(), name, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, uri := range []string{"a://1", "a://2"} {
		if _, err := c.ReadResource(t.Context(), uri); err != nil {
			t.Fatal(err)
		}
	}
}

func TestScrape(t *testing.T) {
	t.Parallel()
	m, err := prometheus.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	use(t, m)
	page, contentType := scrape(t, m, "text/plain")
	if !strings.HasPrefix(contentType, "text/plain; version=0.0.4") {
		t.Errorf("served as %s", contentType)
	}
	for _, want := range []string{
		"# TYPE mcp_server_operation_duration_seconds histogram\n",
		`mcp_server_operation_duration_seconds_count{gen_ai_operation_name="execute_tool",gen_ai_tool_name="ok",mcp_method_name="tools/call",mcp_protocol_version="2026-07-28"} 2` + "\n",
		`mcp_server_operation_duration_seconds_count{mcp_method_name="resources/read",mcp_protocol_version="2026-07-28",mcp_resource_uri="a://{x}"} 2` + "\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	broken := regexp.MustCompile(`_count\{error_type="\w+",[^}]*gen_ai_tool_name="broken"[^}]*\} 1\n`)
	if !broken.MatchString(page) {
		t.Error("the page does not tell that a tool failed")
	}
	if strings.Contains(page, "otel_scope") || t.Failed() {
		t.Errorf("the page:\n%s", page)
	}
	if _, contentType := scrape(t, m, "application/openmetrics-text;version=1.0.0"); !strings.HasPrefix(contentType, "application/openmetrics-text") {
		t.Errorf("served as %s", contentType)
	}
	if err := m.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	drop := sdk.NewView(sdk.Instrument{Name: "mcp.*"}, sdk.Stream{AttributeFilter: func(kv attribute.KeyValue) bool { return kv.Key == "mcp.method.name" }})
	m, err := prometheus.New(
		prometheus.Collect(collectors.NewGoCollector()),
		prometheus.Export(exporter.WithNamespace("shop")),
		prometheus.Measure(sdk.WithView(drop)),
	)
	if err != nil {
		t.Fatal(err)
	}
	use(t, m)
	page, _ := scrape(t, m, "text/plain")
	for _, want := range []string{"go_goroutines ", `shop_mcp_server_operation_duration_seconds_count{mcp_method_name="tools/call"} 3` + "\n"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if _, err := prometheus.New(prometheus.Collect(collectors.NewGoCollector(), collectors.NewGoCollector())); err == nil {
		t.Error("two collectors of the same metrics")
	}
}

// What is nil is an error, where the libraries would crash the program.
func TestNilOptions(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]prometheus.Option{
		"collector": prometheus.Collect(nil), "export": prometheus.Export(nil), "measure": prometheus.Measure(nil),
	} {
		if m, err := prometheus.New(o); err == nil || !strings.Contains(err.Error(), "is nil") {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
	if _, err := prometheus.New(nil); err != nil {
		t.Errorf("an Option that is nil: %v", err)
	}
}

// Two providers have pages of their own.
func TestTwo(t *testing.T) {
	t.Parallel()
	a, err := prometheus.New()
	if err != nil {
		t.Fatal(err)
	}
	b, err := prometheus.New()
	if err != nil {
		t.Fatal(err)
	}
	use(t, a)
	if page, _ := scrape(t, b, ""); strings.Contains(page, "mcp_") {
		t.Errorf("what the other measured:\n%s", page)
	}
}
