// Command everything has one of everything that a server can offer: it is the
// fixture of the official conformance suite, whose names and texts are exact, and
// of our own tests with other clients.
//
// No handler asks for the revision, the transport or a capability. What the client
// cannot do, the framework answers.
package main

import (
	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
)

// pageSize makes tools/list page. The official suite reads its fixtures off the
// first page, so those come first.
const pageSize = 20

func main() {
	serve.Main(newApp())
}

// newApp has test_simple_text first: the suite calls the first tool without arguments.
func newApp() *framework.App {
	w := &watched{}
	s := &sleeper{}
	t := newTriggers()
	return framework.New("everything", "1.0.0",
		framework.WithTitle("Everything"),
		framework.WithInstructions("One of everything, for tests."),
		framework.WithPageSize(pageSize),
	).
		Add(contentTools()...).
		Add(schemaTools()...).
		Add(askTools()...).
		Add(streamTools()...).
		Add(loggingTool()).
		Add(t.tools()...).
		Add(interopTools(s, w)...).
		Add(t.tool).
		Add(resources(w)...).
		Add(prompts()...).
		Add(t.prompt)
}
