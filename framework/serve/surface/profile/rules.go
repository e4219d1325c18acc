package profile

import "strings"

// Level is what a client does if a rule is broken.
type Level string

// Levels.
const (
	Refused Level = "refused" // the tool, or the whole request with all tools, is refused
	Changed Level = "changed" // the tool is cut, hidden or changed
)

// Rule is a condition that one client or API sets. The unexported fields are checks; a zero field
// checks nothing.
type Rule struct {
	Profile string `json:"profile"`
	Level   Level  `json:"level"`
	What    string `json:"what"`   // what the client accepts
	Source  string `json:"source"` // where the rule was found
	Seen    string `json:"seen"`   // when it was found: year and month

	name     func(string) bool // allowed names of a tool
	called   func(server, tool string) string
	longest  int                              // maximum characters of the result of called
	member   func(string) bool                // allowed names of a property, anywhere
	root     []string                         // keywords that the root of a schema must not have
	anywhere []string                         // keywords that no schema inside may have
	shape    func(schema map[string]any) bool // reports whether the client refuses a schema of this shape
	title    bool                             // a tool must have a title
	tools    int                              // maximum number of tools
	opening  int                              // characters of the instructions that the client uses
}

// word returns a test for 1 to longest letters, digits and the given other characters. Unlike a
// regular expression it costs a program nothing at its start.
func word(others string, longest int) func(string) bool {
	return func(s string) bool {
		other := func(r rune) bool {
			return !letter(r) && (r < '0' || r > '9') && !strings.ContainsRune(others, r)
		}
		return s != "" && len(s) <= longest && !strings.ContainsFunc(s, other)
	}
}

func letter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

func geminiName(s string) bool {
	return word("_.:-", 64)(s) && (letter(rune(s[0])) || s[0] == '_')
}

func prefixed(server, tool string) string { return "mcp__" + server + "__" + tool }
func joined(server, tool string) string   { return server + tool }

func underscored(server, tool string) string { return "mcp_" + server + "_" + tool }

// rules are all rules, in the order of reports.
var rules = []Rule{
	{
		Profile: "claude-code", Level: Refused, What: "names of tools have 1 to 128 letters, digits, _ and -",
		Source: "github.com/github/copilot-cli issue 1879", Seen: "2026-03", name: word("_-", 128),
	},
	{
		Profile: "claude-code", Level: Refused, What: "names of arguments have 1 to 64 letters, digits, _, - and .",
		Source: "github.com/diegosouzapw/OmniRoute issue 13552", Seen: "2026-09", member: word("_.-", 64),
	},
	{
		Profile: "claude-code", Level: Refused, What: "the root of an input schema has no oneOf, anyOf or allOf",
		Source: "github.com/makenotion/notion-mcp-server issue 341", Seen: "2026-08", root: []string{"oneOf", "anyOf", "allOf"},
	},
	{
		Profile: "claude-code", Level: Changed, What: "a tool whose name is longer than 128 characters, as mcp__server__tool, is left out",
		Source: "Claude Code's runtime, by claudetto's wiki", Seen: "2026-10", called: prefixed, longest: 128,
	},
	{
		Profile: "claude-code", Level: Changed, What: "an untyped value arrives as text: 8 as \"8\", an object as its JSON",
		Source: "github.com/anthropics/claude-code issue 82652", Seen: "2026-08", shape: untyped,
	},
	{
		Profile: "openai", Level: Refused, What: "names of tools have 1 to 64 letters, digits, _ and -",
		Source: "github.com/openai/codex issue 8174", Seen: "2026-03", name: word("_-", 64),
	},
	{
		Profile: "openai", Level: Refused, What: "an object has properties, and an array has items",
		Source: "iwdp-mcp issue 4", Seen: "2026-03", shape: formless,
	},
	{
		Profile: "openai", Level: Changed, What: "Codex shows anyOf as a string",
		Source: "github.com/openai/codex issue 13768", Seen: "2026-03", anywhere: []string{"anyOf"},
	},
	{
		Profile: "openai", Level: Changed, What: "Codex drops the properties beside a oneOf at the root",
		Source: "github.com/openai/codex issue 42283", Seen: "2026-09", root: []string{"oneOf"},
	},
	{
		Profile: "chatgpt", Level: Refused, What: "names of tools have 1 to 64 letters, digits, _ and -",
		Source: "github.com/openai/codex issue 8174", Seen: "2026-03", name: word("_-", 64),
	},
	{
		Profile: "chatgpt", Level: Refused, What: "a tool without a title is dropped",
		Source: "github.com/PrefectHQ/fastmcp issue 4694", Seen: "2026-07", title: true,
	},
	{
		Profile: "chatgpt", Level: Changed, What: "of the instructions, the first 512 characters count most",
		Source: "developers.openai.com, building an MCP server", Seen: "2026-10", opening: 512,
	},
	{
		Profile: "gemini", Level: Refused, What: "names of tools begin with a letter or _, and have 1 to 64 letters, digits, _, ., : and -",
		Source: "github.com/google-gemini/gemini-cli issue 2966", Seen: "2026-06", name: geminiName,
	},
	{
		Profile: "gemini", Level: Changed, What: "a name longer than 63 characters, as mcp_server_tool, loses its middle, and two tools can become one",
		Source: "github.com/google-gemini/gemini-cli pull request 28971", Seen: "2026-08", called: underscored, longest: 63,
	},
	{
		Profile: "gemini", Level: Changed, What: "a client that fills in parameters drops propertyNames and exclusiveMinimum, or fails",
		Source: "zendev-sh/zenflow issue 14", Seen: "2026-06", anywhere: []string{"propertyNames", "exclusiveMinimum"},
	},
	{
		Profile: "gemini", Level: Changed, What: "a client that fills in parameters takes one type, and no list of types",
		Source: "github.com/google-gemini/gemini-cli issue 21094", Seen: "2026-06", shape: manyTyped,
	},
	{
		Profile: "gemini", Level: Changed, What: "a client that fills in parameters drops $ref, or fails",
		Source: "github.com/google-gemini/gemini-cli issue 13326", Seen: "2025-11", anywhere: []string{"$ref"},
	},
	{
		Profile: "gemini", Level: Changed, What: "a tool with an untyped value is skipped",
		Source: "mcp-sequential-thinking issue 12", Seen: "2026-06", shape: untyped,
	},
	{
		Profile: "vscode", Level: Changed, What: "a request takes 128 tools, of all servers together",
		Source: "postman-mcp-server issue 26", Seen: "2026-06", tools: 128,
	},
	{
		Profile: "cursor", Level: Changed, What: "a tool is left out if its name and the server's have more than 60 characters",
		Source: "composio issue 2788", Seen: "2026-02", called: joined, longest: 60,
	},
	{
		Profile: "cursor", Level: Changed, What: "80 tools are used, of all servers together",
		Source: "Snowflake-Labs/mcp issue 77", Seen: "2025-09", tools: 80,
	},
}

// formless reports whether a schema is an object without properties, or an array without items.
func formless(s map[string]any) bool {
	switch s["type"] {
	case "object":
		_, has := s["properties"]
		_, more := s["additionalProperties"].(map[string]any)
		return !has && !more
	case "array":
		_, has := s["items"]
		_, tuple := s["prefixItems"]
		return !has && !tuple
	}
	return false
}

func manyTyped(s map[string]any) bool {
	_, many := s["type"].([]any) // even a list of one
	return many
}

// untyped reports whether a schema does not restrict the type of its values.
func untyped(s map[string]any) bool {
	for _, keyword := range []string{"type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"} {
		if _, has := s[keyword]; has {
			return false
		}
	}
	return true
}
