package dialect_test

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
)

// schemaDir holds the official schemas as <revision>.json.
const schemaDir = "testdata/schema"

// definitions names the request or notification of a method, and its result, in
// the official schemas.
var definitions = map[string][2]string{
	protocol.MethodInitialize:    {"InitializeRequest", "InitializeResult"},
	protocol.MethodDiscover:      {"DiscoverRequest", "DiscoverResult"},
	protocol.MethodPing:          {"PingRequest", "EmptyResult"},
	protocol.MethodListTools:     {"ListToolsRequest", "ListToolsResult"},
	protocol.MethodCallTool:      {"CallToolRequest", "CallToolResult"},
	protocol.MethodListResources: {"ListResourcesRequest", "ListResourcesResult"},
	protocol.MethodListTemplates: {"ListResourceTemplatesRequest", "ListResourceTemplatesResult"},
	protocol.MethodReadResource:  {"ReadResourceRequest", "ReadResourceResult"},
	protocol.MethodSubscribe:     {"SubscribeRequest", "EmptyResult"},
	protocol.MethodUnsubscribe:   {"UnsubscribeRequest", "EmptyResult"},
	protocol.MethodListen:        {"SubscriptionsListenRequest", "SubscriptionsListenResult"},
	protocol.MethodListPrompts:   {"ListPromptsRequest", "ListPromptsResult"},
	protocol.MethodGetPrompt:     {"GetPromptRequest", "GetPromptResult"},
	protocol.MethodComplete:      {"CompleteRequest", "CompleteResult"},
	protocol.MethodSetLevel:      {"SetLevelRequest", "EmptyResult"},
	protocol.MethodGetTask:       {"GetTaskRequest", "GetTaskResult"},
	protocol.MethodTaskResult:    {"GetTaskPayloadRequest", "GetTaskPayloadResult"},
	protocol.MethodListTasks:     {"ListTasksRequest", "ListTasksResult"},
	protocol.MethodCancelTask:    {"CancelTaskRequest", "CancelTaskResult"},
	protocol.MethodCreateMessage: {"CreateMessageRequest", "CreateMessageResult"},
	protocol.MethodListRoots:     {"ListRootsRequest", "ListRootsResult"},
	protocol.MethodElicit:        {"ElicitRequest", "ElicitResult"},

	protocol.NotificationInitialized:         {"InitializedNotification"},
	protocol.NotificationCancelled:           {"CancelledNotification"},
	protocol.NotificationProgress:            {"ProgressNotification"},
	protocol.NotificationMessage:             {"LoggingMessageNotification"},
	protocol.NotificationToolsChanged:        {"ToolListChangedNotification"},
	protocol.NotificationResourcesChanged:    {"ResourceListChangedNotification"},
	protocol.NotificationPromptsChanged:      {"PromptListChangedNotification"},
	protocol.NotificationResourceUpdated:     {"ResourceUpdatedNotification"},
	protocol.NotificationRootsChanged:        {"RootsListChangedNotification"},
	protocol.NotificationElicitationComplete: {"ElicitationCompleteNotification"},
	protocol.NotificationTaskStatus:          {"TaskStatusNotification"},
	protocol.NotificationAcknowledged:        {"SubscriptionsAcknowledgedNotification"},
}

// definition is the place in the official schema that says what params or a
// result look like; "" for what is the tasks extension's, which has none here.
func definition(d *dialect.Dialect, method string, result bool, kind string) string {
	root, defs := "#/definitions/", definitions[method]
	if d.Revision() == revD || d.Revision() == revE {
		root = "#/$defs/"
	}
	switch {
	case defs[0] == "", result && defs[1] == "", !d.InSchema(method):
		return ""
	case !result:
		return root + defs[0] + "/properties/params"
	case kind == "input":
		return root + "InputRequiredResult"
	case kind == "task" && d.TaskExtension():
		return ""
	case kind == "task":
		return root + "CreateTaskResult"
	}
	return root + defs[1]
}

// official compiles the official schemas, once per place.
type official struct {
	mu       sync.Mutex
	anyURI   bool // formats are not looked at
	compiler map[string]*jsonschema.Compiler
	compiled map[string]*jsonschema.Schema
}

func newOfficial() *official {
	return &official{compiler: map[string]*jsonschema.Compiler{}, compiled: map[string]*jsonschema.Schema{}}
}

// schema is nil where the place is "".
func (o *official) schema(t testing.TB, d *dialect.Dialect, place string) *jsonschema.Schema {
	t.Helper()
	if place == "" {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	key := d.String() + place
	if s := o.compiled[key]; s != nil {
		return s
	}
	c := o.compiler[d.String()]
	if c == nil {
		c = o.load(t, d)
		o.compiler[d.String()] = c
	}
	s, err := c.Compile(d.String() + ".json" + place)
	if err != nil {
		t.Fatalf("compiling %s of %s: %v", place, d, err)
	}
	o.compiled[key] = s
	return s
}

func (o *official) load(t testing.TB, d *dialect.Dialect) *jsonschema.Compiler {
	t.Helper()
	f, err := os.Open(filepath.Join(schemaDir, d.String()+".json"))
	if err != nil {
		t.Fatalf("opening official schema: %v", err)
	}
	doc, err := jsonschema.UnmarshalJSON(f)
	_ = f.Close() // only read
	if err != nil {
		t.Fatalf("reading official schema: %v", err)
	}
	c := jsonschema.NewCompiler()
	if o.anyURI {
		for _, name := range []string{"uri", "uri-template"} {
			c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(any) error { return nil }})
		}
	}
	if err := c.AddResource(d.String()+".json", doc); err != nil {
		t.Fatalf("adding official schema: %v", err)
	}
	return c
}

// judge is nil for what is valid, or where no schema exists.
func (o *official) judge(t testing.TB, s *jsonschema.Schema, text []byte) error {
	t.Helper()
	if s == nil {
		return nil
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("decoding %s: %v", text, err)
	}
	return s.Validate(v)
}

func TestGoldensFollowOfficialSchema(t *testing.T) {
	t.Parallel()
	o := newOfficial()
	eachGolden(t, func(t *testing.T, d *dialect.Dialect, c *wireCase, golden []byte) {
		s := o.schema(t, d, definition(d, c.method, c.params == nil, c.variant))
		if err := o.judge(t, s, golden); err != nil {
			t.Errorf("golden: %v", err)
		}
	})
}

// The encoder may order and spell differently than the golden; what it writes
// is judged for itself.
func TestEncodedFollowsOfficialSchema(t *testing.T) {
	t.Parallel()
	o := newOfficial()
	eachGolden(t, func(t *testing.T, d *dialect.Dialect, c *wireCase, _ []byte) {
		got, err := c.encode(d)
		if err != nil {
			t.Fatalf("encoding: %v", err)
		}
		s := o.schema(t, d, definition(d, c.method, c.params == nil, c.variant))
		if err := o.judge(t, s, got); err != nil {
			t.Errorf("%v\n%s", err, got)
		}
	})
}
