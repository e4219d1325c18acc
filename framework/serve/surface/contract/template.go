package contract

import (
	"cmp"
	"regexp"
	"strings"
)

// query matches an expression at the end of a template with variables that may all be absent.
var query = regexp.MustCompile(`\{[?&]([^{}]*)\}$`)

// expression matches any other expression. With the operator +, a variable may also contain
// slashes.
var expression = regexp.MustCompile(`\{([+#./;?&]?)([^{}]*)\}`)

// template compares two URI templates of one component. It checks whether URIs that clients have,
// or can build, still match.
func (r *report) template(before, after string) {
	base, optional := splitQuery(before)
	newBase, newOptional := splitQuery(after)
	for _, name := range without(optional, newOptional) {
		r.add(Breaking, "variable %s removed from the URI template, which is %s", name, after)
	}
	for _, name := range without(newOptional, optional) {
		r.add(Additive, "variable %s added to the URI template, which is %s", name, after)
	}
	if base == newBase {
		return
	}
	gone, added := without(variables(base), variables(newBase)), without(variables(newBase), variables(base))
	switch {
	case len(gone)+len(added) > 0:
		r.add(Breaking, "variables of the URI template changed (removed: %s; added: %s), it is %s", cmp.Or(strings.Join(gone, ", "), "none"), cmp.Or(strings.Join(added, ", "), "none"), after)
	case strings.ReplaceAll(newBase, "{+", "{") == base:
		r.add(Additive, "variables of the URI template take more, it is %s", after)
	default:
		r.add(Breaking, "URI template changed to %s", after)
	}
}

func splitQuery(template string) (base string, optional []string) {
	m := query.FindStringSubmatchIndex(template)
	if m == nil {
		return template, nil
	}
	return template[:m[0]], strings.Split(template[m[2]:m[3]], ",")
}

func variables(template string) []string {
	var all []string
	for _, m := range expression.FindAllStringSubmatch(template, -1) {
		for name := range strings.SplitSeq(m[2], ",") {
			name, _, _ = strings.Cut(strings.TrimSuffix(name, "*"), ":")
			all = append(all, name)
		}
	}
	return all
}
