// Package app has one of everything that a server can offer: it is the fixture of
// the official conformance suite, whose names and texts are exact, and of our own
// tests with other clients. The programs around it choose the carrier.
//
// No handler asks for the revision, the transport or a capability. What the client
// cannot do, the framework answers.
package app

import "github.com/kagami-mcp/kagami/framework"

// pageSize makes tools/list page. The official suite reads its fixtures off the
// first page, so those come first.
const pageSize = 35

// New makes the app, which shares nothing with others. test_simple_text is its
// first tool: the suite calls the first one without arguments.
func New() *framework.App {
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
		Add(roundTools()...).
		Add(taskTools()...).
		Add(streamTools()...).
		Add(loggingTool()).
		Add(t.tools()...).
		Add(interopTools(s, w)...).
		Add(t.tool).
		Add(resources(w)...).
		Add(prompts()...).
		Add(t.prompt)
}
