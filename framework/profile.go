package framework

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

// narrowings maps each profile to the keywords that its clients do not accept. The rules that
// "kagami inspect --profile" checks name the sources.
var narrowings = map[string]binding.Narrowing{
	"claude-code": {Root: true},
	"openai":      {Root: true, Unions: true, Shapeless: true},
	"chatgpt":     {Root: true, Unions: true, Shapeless: true},
	"gemini":      {Refs: true, Nulls: true, Exclusives: true},
	"vscode":      {},
	"cursor":      {},
	"all":         {Refs: true, Unions: true, Root: true, Nulls: true, Exclusives: true, Shapeless: true},
}

// WithProfile restricts the tools' listed input schemas to the part of JSON Schema that certain
// clients and the APIs of their models accept. The profiles are "claude-code", "openai", "chatgpt",
// "gemini", "vscode", "cursor" and "all". All callers get the same schemas, because the name of a
// client does not identify the model behind it.
//
// Which schemas change depends on the profile:
//
//   - Recursive types are written out three levels deep, or fewer if the schema would become longer
//     than 16 KiB. Below that depth they are objects of any shape.
//   - The variants of OneOf, and other alternatives, become one schema. Objects have the members of
//     all variants, with a sentence that says when to use each. Alternatives of different types
//     become text if one of them is text or has no type. So do the members of variants of Go types,
//     because texts are converted, unless [WithoutRepair] is set. Otherwise they have the type of
//     the first one. Whole and other numbers together are numbers.
//   - An optional member is not listed as nullable. An exclusive bound of a number that is not an
//     integer becomes a sentence of the description.
//
// Arguments are validated by their types, as without the option. The listed schema may accept more,
// and less for alternatives that have the type of the first one. Values without a type, such as any
// and json.RawMessage, keep their schema, although some clients skip such a tool or send texts.
//
// If the API of Anthropic, OpenAI or Gemini refuses a name, that is a fault of Build instead of a
// warning, with every profile. Output schemas, questions and prompts do not change.
func WithProfile(profiles ...string) AppOption {
	return appOption{"WithProfile", func(c *appConfig) string {
		var n binding.Narrowing
		for _, name := range profiles {
			other, known := narrowings[name]
			if !known {
				return fmt.Sprintf("unknown profile %q, want one of %s", name, strings.Join(slices.Sorted(maps.Keys(narrowings)), ", "))
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
