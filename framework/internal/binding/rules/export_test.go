package rules

import (
	"maps"
	"slices"

	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
)

// KnownTags are the validate tags that the package has words or keywords for,
// apart from those that it maps in code.
func KnownTags() []string {
	var out []string
	for _, m := range []map[string]string{
		schema.Patterns, formats, sentences, timeSentences, boundSentences, fieldSentences, PresenceSentences, ruleAliases,
	} {
		out = slices.AppendSeq(out, maps.Keys(m))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ForbiddenTags are refused at Build.
func ForbiddenTags() []string { return slices.Sorted(maps.Keys(forbidden)) }

// Sentences are the words of rules without keywords, by tag.
func Sentences() map[string]string { return maps.Clone(sentences) }

// ReadOnce reports whether a text of any length costs little: the rule has a bound, or a function of
// this package.
func ReadOnce(tag string) bool { return longest[tag] > 0 || scans[tag] != nil }

// Formats are the rules with a format or a pattern, by tag.
func Formats() []string {
	return slices.Concat(slices.Collect(maps.Keys(formats)), slices.Collect(maps.Keys(schema.Patterns)))
}
