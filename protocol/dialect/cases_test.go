package dialect_test

import (
	"encoding/json"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
)

// A wireCase is one golden file per revision that has the method: the model in
// its newest shape, whose wire form the file holds. The values follow the
// examples of the specification's pages.
type wireCase struct {
	method  string
	variant string                                                            // "" or what tells the case from others of the method
	only    []protocol.Revision                                               // nil: all that have the method
	params  func(d *dialect.Dialect) (protocol.Params, *protocol.RequestMeta) // or
	result  func(d *dialect.Dialect) protocol.Result
}

var (
	revA = protocol.Rev20241105
	revB = protocol.Rev20250326
	revC = protocol.Rev20250618
	revD = protocol.Rev20251125
	revE = protocol.Rev20260728
)

var (
	pngBytes = []byte("\x89PNG\r\n\x1a\n")
	wavBytes = []byte("RIFF\x00\x00\x00\x00WAVE")

	blockMeta   = protocol.Meta{"example.com/block": 1}
	annotations = &protocol.Annotations{
		Audience:     []protocol.Role{protocol.RoleUser, protocol.RoleAssistant},
		Priority:     new(0.5),
		LastModified: time.Date(2025, 1, 12, 15, 0, 58, 0, time.UTC),
	}
	icons = []protocol.Icon{{
		Src: "https://example.com/icon.png", MIMEType: "image/png", Sizes: []string{"48x48"}, Theme: "light",
	}}
	exampleClient = &protocol.Implementation{Name: "ExampleClient", Version: "1.0.0"}
	exampleServer = &protocol.Implementation{Name: "ExampleServer", Version: "1.0.0"}
	publicCache   = protocol.CacheHints{TTL: 5 * time.Minute}
)

const (
	exampleTask = "786512e2-9e0d-44bd-8f29-789f320fe840"
	contactForm = `{"type":"object","properties":{
		"name":{"type":"string","description":"Your full name"},
		"email":{"type":"string","format":"email","description":"Your email address"},
		"age":{"type":"number","minimum":18,"description":"Your age"}},
		"required":["name","email"]}`
	richForm = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{
		"color":{"type":"string","title":"Color Selection","description":"Choose your favorite color",
			"oneOf":[{"const":"#FF0000","title":"Red"},{"const":"#00FF00","title":"Green"}],"default":"#FF0000"},
		"plan":{"type":"string","enum":["free","pro"],"default":"free"},
		"newsletter":{"type":"boolean","default":false},
		"age":{"type":"integer","minimum":0,"default":18},
		"nick":{"type":"string","minLength":3,"default":"anon"}},"required":["color"]}`
)

// plain is the _meta of an ordinary request.
func plain(d *dialect.Dialect) *protocol.RequestMeta {
	if d.Handshake() {
		return nil
	}
	return &protocol.RequestMeta{Client: exampleClient, Capabilities: &protocol.ClientCapabilities{}}
}

// asks is a case of params that are the same model under every revision.
func asks(p protocol.Params) func(*dialect.Dialect) (protocol.Params, *protocol.RequestMeta) {
	return func(d *dialect.Dialect) (protocol.Params, *protocol.RequestMeta) { return p, plain(d) }
}

// with is asks with a _meta of its own.
func with(p protocol.Params, m protocol.RequestMeta) func(*dialect.Dialect) (protocol.Params, *protocol.RequestMeta) {
	return func(*dialect.Dialect) (protocol.Params, *protocol.RequestMeta) { return p, &m }
}

func answers(r protocol.Result) func(*dialect.Dialect) protocol.Result {
	return func(*dialect.Dialect) protocol.Result { return r }
}

func clientCapabilities() protocol.ClientCapabilities {
	return protocol.ClientCapabilities{
		Elicitation: true, ElicitURL: true,
		Sampling: true, SamplingTool: true, SamplingContext: true,
		Roots: true, RootsListChanged: true,
		Tasks: true, TaskList: true, TaskCancel: true, TaskElicitation: true, TaskSampling: true,
		Experimental: map[string]json.RawMessage{"example.com/trace": json.RawMessage("{}")},
	}
}

func serverCapabilities() protocol.ServerCapabilities {
	return protocol.ServerCapabilities{
		Tools: true, ToolsListChanged: true,
		Resources: true, ResourcesSubscribe: true, ResourcesChanged: true,
		Prompts: true, PromptsListChanged: true,
		Completions: true, Logging: true,
		Tasks: true, TaskList: true, TaskCancel: true,
		Extensions:   map[string]json.RawMessage{"io.modelcontextprotocol/ui": json.RawMessage("{}")},
		Experimental: map[string]json.RawMessage{"example.com/trace": json.RawMessage("{}")},
	}
}

func fullClient() protocol.Implementation {
	return protocol.Implementation{
		Name: "ExampleClient", Title: "Example Client Display Name", Version: "1.0.0",
		Description: "An example MCP client application", WebsiteURL: "https://example.com", Icons: icons,
	}
}

func fullServer() protocol.Implementation {
	return protocol.Implementation{
		Name: "ExampleServer", Title: "Example Server Display Name", Version: "1.0.0",
		Description: "An example MCP server providing tools and resources",
		WebsiteURL:  "https://example.com/server", Icons: icons,
	}
}

func initializeParams(d *dialect.Dialect) (protocol.Params, *protocol.RequestMeta) {
	return &protocol.InitializeParams{
		Version: d.String(), Capabilities: clientCapabilities(), Client: fullClient(),
	}, nil
}

func initializeResult(d *dialect.Dialect) protocol.Result {
	return &protocol.InitializeResult{
		Version: d.String(), Capabilities: serverCapabilities(), Server: fullServer(),
		Instructions: "Optional instructions for the client",
	}
}

func discoverParams(*dialect.Dialect) (protocol.Params, *protocol.RequestMeta) {
	c := clientCapabilities()
	c.Extensions = map[string]json.RawMessage{
		"io.modelcontextprotocol/ui": json.RawMessage(`{"mimeTypes":["text/html;profile=mcp-app"]}`),
	}
	return &protocol.DiscoverParams{}, &protocol.RequestMeta{Client: new(fullClient()), Capabilities: &c}
}

func discoverResult(*dialect.Dialect) protocol.Result {
	return &protocol.DiscoverResult{
		Versions: dialect.PerRequestVersions(), Capabilities: serverCapabilities(), Server: *exampleServer,
		Instructions: "This server provides weather tools.", Cache: protocol.CacheHints{TTL: time.Hour},
	}
}

func weatherTool() protocol.Tool {
	return protocol.Tool{
		Name: "get_weather", Title: "Weather Information Provider",
		Description: "Get current weather information for a location",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"location":{"type":"string",
			"description":"City name or zip code"}},"required":["location"]}`),
		OutputSchema: json.RawMessage(`{"type":"object","properties":{
			"temperature":{"type":"number","description":"Temperature in celsius"},
			"conditions":{"type":"string","description":"Weather conditions description"}},
			"required":["temperature","conditions"]}`),
		Annotations: protocol.ToolAnnotations{
			ReadOnly: new(true), Destructive: new(false), Idempotent: new(true), OpenWorld: new(true),
		},
		TaskSupport: protocol.TaskOptional,
		Icons:       []protocol.Icon{{Src: "https://example.com/weather-icon.png", MIMEType: "image/png", Sizes: []string{"48x48"}}},
		Meta:        protocol.Meta{"example.com/category": "weather"},
	}
}

func listTools(*dialect.Dialect) protocol.Result {
	return &protocol.ListToolsResult{
		Tools: []protocol.Tool{weatherTool(), {
			Name: "list_readings", OutputSchema: json.RawMessage(`{"type":"array","items":{"type":"number"}}`),
		}},
		Next: new("next-page-cursor"), Cache: publicCache,
	}
}

func allBlocks() []protocol.Block {
	return []protocol.Block{
		protocol.Text{
			Text:        "Current weather in New York:\nTemperature: 72°F\nConditions: <b>Partly cloudy</b>",
			Annotations: annotations, Meta: blockMeta,
		},
		protocol.Image{Data: pngBytes, Annotations: annotations, Meta: blockMeta},
		protocol.Audio{Data: wavBytes, Annotations: annotations, Meta: blockMeta},
		protocol.Embedded{Contents: mainRust(), Annotations: annotations, Meta: blockMeta},
		protocol.Link{
			URI: "file:///project/src/main.rs", Name: "main.rs", Title: "Rust Main",
			Description: "Primary application entry point", MIME: "text/x-rust", Size: 2048,
			Icons: icons, Annotations: annotations, Meta: blockMeta,
		},
	}
}

func mainRust() protocol.Contents {
	return protocol.Contents{
		URI: "file:///project/src/main.rs", MIME: "text/x-rust",
		Text: "fn main() {\n    println!(\"Hello world!\");\n}", Meta: blockMeta,
	}
}

func callTool() *protocol.CallToolParams {
	return &protocol.CallToolParams{
		Name: "get_weather", Arguments: json.RawMessage(`{"location":"New York"}`),
		Task: &protocol.TaskRequest{TTL: new(int64(60000))},
		Inputs: protocol.Inputs{
			Responses: map[string]json.RawMessage{
				"github_login": json.RawMessage(`{"action":"accept","content":{"name":"octocat"}}`),
			},
			State: new("eyJsb2NhdGlvbiI6Ik5ldyBZb3JrIn0"),
		},
	}
}

// callToolMeta: what the handshake revisions lack is left out.
func callToolMeta() protocol.RequestMeta {
	return protocol.RequestMeta{
		ProgressToken: jsonrpc.StringID("abc123"), Client: exampleClient, LogLevel: protocol.LevelInfo,
	}
}

func callToolResult(*dialect.Dialect) protocol.Result {
	return &protocol.CallToolResult{
		Content:    allBlocks(),
		Structured: json.RawMessage(`{"temperature":22.5,"conditions":"Partly cloudy"}`),
		Meta:       protocol.Meta{"example.com/elapsed": 12},
	}
}

func exampleTaskState() protocol.Task {
	return protocol.Task{
		ID: exampleTask, Status: protocol.TaskWorking, Message: "The operation is now in progress.",
		Created: time.Date(2025, 11, 25, 10, 30, 0, 0, time.UTC),
		Updated: time.Date(2025, 11, 25, 10, 40, 0, 0, time.UTC),
		TTL:     new(int64(60000)), PollInterval: 5000,
	}
}

// finishedTask is the task ten minutes later, to be kept for ever.
func finishedTask(s protocol.TaskStatus) protocol.DetailedTask {
	t := exampleTaskState()
	t.Status, t.Message, t.TTL, t.PollInterval = s, "", nil, 0
	t.Updated = t.Updated.Add(10 * time.Minute)
	return protocol.DetailedTask{Task: t}
}

func inputRequired(*dialect.Dialect) protocol.Result {
	return &protocol.InputRequiredResult{
		Requests: []protocol.InputRequest{
			{Key: "github_login", Params: contact()},
			{Key: "consent", Params: &protocol.ElicitParams{
				Message: "Please authorize access", URL: "https://example.com/connect?id=550e8400", ID: "550e8400",
			}},
			{Key: "capital_of_france", Params: &protocol.CreateMessageParams{
				Messages: []protocol.Message{{
					Role: protocol.RoleUser, Content: protocol.Text{Text: "What is the capital of France?"},
				}},
				MaxTokens: 100,
			}},
			{Key: "client_roots", Params: &protocol.ListRootsParams{}},
		},
		State: new("foo"),
	}
}

func contact() *protocol.ElicitParams {
	return &protocol.ElicitParams{
		Message: "Please provide your contact information", Schema: json.RawMessage(contactForm),
	}
}

func createMessage() *protocol.CreateMessageParams {
	return &protocol.CreateMessageParams{
		Messages: []protocol.Message{
			{Role: protocol.RoleUser, Content: protocol.Text{Text: "What is the capital of France?"}},
			{Role: protocol.RoleAssistant, Content: protocol.Image{Data: pngBytes, MIME: "image/png"}},
		},
		Preferences: &protocol.ModelPreferences{
			Hints: []string{"claude-3-sonnet", "claude"}, Cost: new(0.3), Speed: new(0.5), Intelligence: new(0.8),
		},
		System: "You are a helpful assistant.", IncludeContext: "thisServer", Temperature: new(0.7),
		MaxTokens: 100, StopSequences: []string{"END"}, Metadata: json.RawMessage(`{"trace":"t1"}`),
		Task: &protocol.TaskRequest{},
	}
}

func toolUses() []protocol.Block {
	return []protocol.Block{
		protocol.ToolUse{ID: "call_abc123", Name: "get_weather", Input: json.RawMessage(`{"city":"Paris"}`)},
		protocol.ToolUse{ID: "call_def456", Name: "get_weather", Input: json.RawMessage(`{"city":"London"}`)},
	}
}

func createMessageWithTools() *protocol.CreateMessageParams {
	uses := toolUses()
	return &protocol.CreateMessageParams{
		Messages: []protocol.Message{
			{Role: protocol.RoleUser, Content: protocol.Text{Text: "What's the weather like in Paris and London?"}},
			{Role: protocol.RoleAssistant, Content: uses[0], More: uses[1:], Meta: blockMeta},
			{
				Role: protocol.RoleUser,
				Content: protocol.ToolResult{
					ToolUseID:  "call_abc123",
					Content:    []protocol.Block{protocol.Text{Text: "Weather in Paris: 18°C, partly cloudy"}},
					Structured: json.RawMessage(`{"celsius":18}`),
				},
				More: []protocol.Block{protocol.ToolResult{ToolUseID: "call_def456", IsError: true, Meta: blockMeta}},
			},
		},
		MaxTokens: 1000,
		Tools: []protocol.Tool{{
			Name: "get_weather", Description: "Get current weather for a city",
			InputSchema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string",
				"description":"City name"}},"required":["city"]}`),
		}},
		ToolChoice: "auto",
	}
}

func filter() protocol.SubscriptionFilter {
	return protocol.SubscriptionFilter{
		Tools: true, Prompts: true, Resources: true,
		URIs: []string{"file:///project/config.json"}, Tasks: []string{exampleTask},
	}
}
