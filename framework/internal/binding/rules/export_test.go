package rules

import (
	"maps"
	"slices"

	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
)

// KnownTags returns the validate tags that the package has words or keywords for, except those that it maps in
// code.
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

// ForbiddenTags returns the tags that Build refuses.
func ForbiddenTags() []string { return slices.Sorted(maps.Keys(forbidden)) }

// Sentences returns the sentences of rules without keywords, by tag.
func Sentences() map[string]string { return maps.Clone(sentences) }

// ReadOnce reports whether a long text costs little: the rule has a bound, or a function of this package
// judges it.
func ReadOnce(tag string) bool { return longest[tag] > 0 || scans[tag] != nil }

// Formats returns the tags of rules with a format or a pattern.
func Formats() []string {
	return slices.Concat(slices.Collect(maps.Keys(formats)), slices.Collect(maps.Keys(schema.Patterns)))
}
