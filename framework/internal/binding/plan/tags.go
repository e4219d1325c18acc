package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/binding/spelling"
)

// ours are the keys of tags that say something about a member.
var ours = []string{"json", "doc", "title", "validate", "default", "uri", "header", "secret", "jsonschema"}

// lintTag files faults for what package reflect ignores in silence: a tag that it cannot read
// to its end, and tags of a field that cannot be set.
func (c *compiler) lintTag(sf reflect.StructField) {
	keys, rest := tagKeysOf(sf.Tag)
	switch {
	case rest != "":
		c.Fault("", fmt.Sprintf("the tag cannot be read from %q on", rest), `Write key:"value" pairs with a space between them`)
		return
	case sf.Tag.Get("json") == "-":
		return
	}
	for i, key := range keys {
		if slices.Contains(keys[:i], key) && slices.Contains(ours, key) {
			c.Fault("", "the tag has "+key+" twice, and only the first is read", "Join them")
		}
	}
	if sf.IsExported() || sf.Anonymous {
		c.warnUnread(keys, sf.Tag)
		return
	}
	if i := slices.IndexFunc(keys, func(key string) bool { return slices.Contains(ours, key) }); i >= 0 {
		c.Fault("", fmt.Sprintf("the field has a %s tag and is not exported, so that nothing can read or set it", keys[i]),
			"Begin its name with a capital letter, or remove its tags")
	}
}

// warnUnread warns of tags that were probably meant to be ours.
func (c *compiler) warnUnread(keys []string, tag reflect.StructTag) {
	described := slices.Contains(keys, "doc") || slices.Contains(keys, "jsonschema_description")
	for _, key := range keys {
		switch small := strings.ToLower(key); {
		case slices.Contains(ours, small) && small != key:
			c.Warn(fmt.Sprintf("the tag %s is not read", key), "Write "+small+`:"…"`)
		case !described && (key == "description" || key == "desc"):
			c.Warn(fmt.Sprintf("the tag %s is not read", key), `Use doc:"…"`)
		case foreign[key] != "" && c.mode != Output && !slices.Contains(keys, "validate") && !slices.Contains(keys, "jsonschema"):
			c.Warn(fmt.Sprintf("the tag %s is not read", key), "Write "+foreign[key])
		case misspelled(key) != "":
			c.Warn(fmt.Sprintf("the tag %s is not read", key), fmt.Sprintf("Write %s:\"…\", if that was meant", misspelled(key)))
		case key == "binding" && c.mode != Output && !slices.Contains(keys, "validate") && demands(tag.Get(key)):
			c.Warn("the tag binding is not read, so that its rules are not asked", `Use validate:"…"`)
		}
	}
}

// foreign are tags of other generators of schemas, and what says the same here.
var foreign = map[string]string{
	"enum": `validate:"oneof=…"`, "required": `validate:"required"`, "minimum": `validate:"min=…"`, "maximum": `validate:"max=…"`,
	"minLength": `validate:"min=…"`, "maxLength": `validate:"max=…"`, "pattern": `jsonschema:"pattern=…"`, "example": `jsonschema:"example=…"`,
}

// misspelled returns the tag that was probably meant by a key, or "".
func misspelled(key string) string {
	if key == "description" || foreign[key] != "" {
		return ""
	}
	for _, known := range []string{"description", "jsonschema", "validate", "default"} {
		if far := spelling.Distance(strings.ToLower(key), known); far == 1 || far == 2 && len(known) > 7 {
			if known == "description" {
				return "doc"
			}
			return known
		}
	}
	for _, known := range ours { // short names are near to tags of others, such as bson
		if key != known && letters(key) == letters(known) {
			return known
		}
	}
	return ""
}

// letters returns the letters of a word in alphabetical order.
func letters(word string) string {
	all := []byte(word)
	slices.Sort(all)
	return string(all)
}

// demands reports whether rules of gin ask for more than the presence of a value.
func demands(rules string) bool {
	for rule := range strings.SplitSeq(rules, ",") {
		if !slices.Contains([]string{"", "-", "required", "omitempty"}, rule) {
			return true
		}
	}
	return false
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
