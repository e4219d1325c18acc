package interop_test

import (
	"os"
	"os/exec"
	"path"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
)

// example is a server that an SDK ships to show how its users should write one.
type example struct {
	foreign
	calls []exampleCall
	logs  int // that the calls must bring, at least
}

type exampleCall struct {
	tool string
	args map[string]any
	want string
}

var stream = exampleCall{"start-notification-stream", map[string]any{"interval": 5, "count": 3}, ""}

var examples = []example{
	{
		foreign: foreign{
			name: "go-sdk everything", command: goServer("github.com/modelcontextprotocol/go-sdk/examples/server/everything", "-http=ADDR"),
			negotiates: "2025-11-25", sessions: true,
		},
		calls: []exampleCall{
			{"greet", map[string]any{"name": "Ada"}, "Hi Ada"},
			{"greet (structured)", map[string]any{"name": "Ada"}, "Hi Ada"},
			{"elicit (form)", nil, "seven"},
		},
	},
	{
		foreign: foreign{
			name: "go-sdk sse", command: goServer("github.com/modelcontextprotocol/go-sdk/examples/server/sse", "-host=127.0.0.1", "-port=PORT"),
			path: "/greeter1", negotiates: "2025-11-25",
		},
		calls: []exampleCall{{"greet1", map[string]any{"name": "Ada"}, "Hi Ada"}},
	},
	{
		foreign: foreign{name: "ts simpleStreamableHttp", command: tsExample("simpleStreamableHttp"), path: "/mcp", negotiates: "2025-11-25", sessions: true},
		calls:   []exampleCall{{"greet", map[string]any{"name": "Ada"}, "Hello, Ada!"}, {"collect-user-info", map[string]any{"infoType": "contact"}, "ada@example.com"}, stream},
		logs:    3,
	},
	{
		foreign: foreign{name: "ts ssePollingExample", command: tsExample("ssePollingExample"), path: "/mcp", negotiates: "2025-11-25", sessions: true},
		calls:   []exampleCall{{"long-task", nil, "Long task completed successfully!"}},
		logs:    4,
	},
	{
		foreign: foreign{name: "ts simpleStateless", command: tsExample("simpleStatelessStreamableHttp"), path: "/mcp", negotiates: "2025-11-25"},
		calls:   []exampleCall{stream},
	},
	{
		foreign: foreign{name: "ts jsonResponse", command: tsExample("jsonResponseStreamableHttp"), path: "/mcp", negotiates: "2025-11-25"},
		calls:   []exampleCall{{"greet", map[string]any{"name": "Ada"}, "Hello, Ada!"}},
	},
	{
		foreign: foreign{name: "ts simpleSseServer", command: tsExample("simpleSseServer"), path: "/mcp", negotiates: "2025-11-25"},
		calls:   []exampleCall{stream},
		logs:    3,
	},
	{
		foreign: foreign{name: "ts compatible, sse", command: tsExample("sseAndStreamableHttpCompatibleServer"), path: "/sse", negotiates: "2025-11-25"},
		calls:   []exampleCall{stream},
		logs:    3,
	},
}

// tsExample is one that the npm package has.
func tsExample(name string) func(*testing.T, string) *exec.Cmd {
	return func(t *testing.T, addr string) *exec.Cmd {
		installNode(t, "node")
		_, port, _ := strings.Cut(addr, ":")
		file := path.Join("node_modules", "@modelcontextprotocol", "sdk", "dist", "esm", "examples", "server", name+".js")
		cmd := exec.Command("node", "--import", "./loopback.mjs", file)
		cmd.Dir, cmd.Env = "node", append(os.Environ(), "PORT="+port)
		return cmd
	}
}

// TestExamples has our client drive the servers that the SDKs ship.
func TestExamples(t *testing.T) {
	for _, e := range examples {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			addr := freeAddr(t)
			v := e.visit(t, spawn(t, addr, e.command(t, addr)), addr)
			if got := v.Revision(); got != e.negotiates {
				t.Errorf("negotiated %s", got)
			}
			tools := map[string]protocol.Tool{}
			for tool, err := range v.Tools(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				tools[tool.Name] = tool
			}
			for _, call := range e.calls {
				if _, listed := tools[call.tool]; !listed {
					t.Errorf("%s is not listed", call.tool)
				}
				v.says(t, call.tool, call.args, call.want)
			}
			if e.logs > 0 {
				within(t, "the logs", func() bool { return v.count("notifications/message") >= e.logs })
			}
			if err := v.Ping(t.Context()); err != nil {
				t.Errorf("ping: %v", err)
			}
			v.leave(t)
		})
	}
}
