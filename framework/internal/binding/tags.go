package binding

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// ours are the keys of tags that say something about a member.
var ours = []string{"json", "doc", "title", "validate", "default", "uri", "header", "secret", "jsonschema"}

// lintTag faults what package reflect passes over in silence: a tag that it cannot read
// to its end, and tags of a field that nobody can set.
func (c *compiler) lintTag(sf reflect.StructField) {
	keys, rest := tagKeysOf(sf.Tag)
	if rest != "" {
		c.at(sf.Name, func() {
			c.fault("", fmt.Sprintf("the tag cannot be read from %q on", rest), `Write key:"value" pairs with a space between them`)
		})
		return
	}
	if sf.IsExported() || sf.Anonymous || sf.Tag.Get("json") == "-" {
		return
	}
	if i := slices.IndexFunc(keys, func(key string) bool { return slices.Contains(ours, key) }); i >= 0 {
		c.at(sf.Name, func() {
			c.fault("", fmt.Sprintf("the field has a %s tag and is not exported, so that nothing can read or set it", keys[i]),
				"Begin its name with a capital letter, or remove its tags")
		})
	}
}

// tagKeysOf are the keys of a tag, and what is behind the last pair that reads.
func tagKeysOf(tag reflect.StructTag) (keys []string, rest string) {
	for rest = strings.TrimLeft(string(tag), " "); rest != ""; rest = strings.TrimLeft(rest, " ") {
		key, value, found := strings.Cut(rest, ":")
		if !found || key == "" || strings.ContainsAny(key, " \",`") {
			return keys, rest
		}
		quoted, err := strconv.QuotedPrefix(value)
		if err != nil || quoted[0] != '"' {
			return keys, rest
		}
		keys, rest = append(keys, key), value[len(quoted):]
	}
	return keys, ""
}
