// Package app has one of everything that a server can offer. It is the fixture of the
// official conformance suite, which requires exact names and texts, and of Kagami's
// tests with other clients. Programs that use it choose the carrier.
//
// No handler checks the revision, the transport or a capability. The framework answers
// if the client lacks a capability.
package app

import "github.com/kagami-mcp/kagami/framework"

// pageSize splits tools/list into pages. The official suite reads its fixtures only from the first
// page, so they come first.
const pageSize = 35

// New returns a new app. Its first tool is test_simple_text, because the suite calls the first tool
// without arguments.
func New() *framework.App {
	w := &watched{}
	s := &sleeper{}
	t := &triggers{}
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
		Add(t.switches()...).
		Add(interopTools(s, w)...).
		Add(changingTool(0)).
		Add(resources(w)...).
		Add(prompts()...).
		Add(changingPrompt(0))
}
