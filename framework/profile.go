package framework

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

// narrowings says what schemas must do without for the clients of a profile; the rules that
// "kagami inspect --profile" checks have the sources.
var narrowings = map[string]binding.Narrowing{
	"claude-code": {Root: true},
	"openai":      {Root: true, Unions: true, Shapeless: true},
	"chatgpt":     {Root: true, Unions: true, Shapeless: true},
	"gemini":      {Refs: true, Nulls: true, Exclusives: true},
	"vscode":      {},
	"cursor":      {},
	"all":         {Refs: true, Unions: true, Root: true, Nulls: true, Exclusives: true, Shapeless: true},
}

// WithProfile lists the tools' input schemas in the part of JSON Schema that certain clients and the APIs
// of their models take: "claude-code", "openai", "chatgpt", "gemini", "vscode", "cursor" or "all". It does so
// for all callers; who calls is never asked.
//
// Which schemas change depends on the profile:
//
//   - Recursive types are written out, three levels deep or fewer if the schema would be longer than 16 KiB.
//     Below, they are objects of any shape.
//   - The variants of OneOf, and other alternatives, become one schema. Objects have the members of all
//     variants, with a sentence that says when each is for; alternatives of different types become text,
//     which is converted unless there is WithoutRepair.
//   - An optional member is not listed as nullable. An exclusive bound of a number that is not an integer is
//     a sentence of the description.
//
// Arguments are judged by their types as without the option: the schema that is listed may accept more. A
// name that an API of these clients refuses is a fault of Build instead of a warning. Output schemas,
// questions and prompts do not change.
func WithProfile(profiles ...string) AppOption {
	return appOption{"WithProfile", func(c *appConfig) string {
		var n binding.Narrowing
		for _, name := range profiles {
			other, known := narrowings[name]
			if !known {
				return fmt.Sprintf("there is no profile %q: there are %s", name, strings.Join(slices.Sorted(maps.Keys(narrowings)), ", "))
			}
			n = binding.Narrowing{
				Refs: n.Refs || other.Refs, Unions: n.Unions || other.Unions, Root: n.Root || other.Root,
				Nulls: n.Nulls || other.Nulls, Exclusives: n.Exclusives || other.Exclusives, Shapeless: n.Shapeless || other.Shapeless,
			}
		}
		if len(profiles) == 0 {
			return `give it a profile, such as "all"`
		}
		c.narrowing, c.profiled = n, true
		return ""
	}}
}
