package callsite

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Field returns file:line of the declaration of a field. where is file:line of anything in the same package.
// Field returns "" if the source files are missing, or if the package has two struct types of the name.
func Field(where, structName, field string) string {
	begins := regexp.MustCompile(`^\s*(?:type\s+)?` + regexp.QuoteMeta(structName) + `(?:\[.*\])?\s+struct\s*\{\s*(?://.*)?$`)
	declares := regexp.MustCompile(`^\s*(?:\w+\s*,\s*)*` + regexp.QuoteMeta(field) + `\b`)
	at := ""
	for _, source := range sourcesBeside(where) {
		text, err := os.ReadFile(source)
		if err != nil {
			return ""
		}
		line, types := fieldLine(strings.Split(string(text), "\n"), begins, declares)
		if types > 1 || types == 1 && at != "" {
			return ""
		}
		if line > 0 {
			at = source + ":" + strconv.Itoa(line)
		}
	}
	return at
}

// fieldLine returns the number of the line that declares a field, or 0. types is the number of struct types
// with the name.
func fieldLine(lines []string, begins, declares *regexp.Regexp) (line, types int) {
	depth := 0 // of braces, inside of the type
	for i, text := range lines {
		switch {
		case depth == 0 && begins.MatchString(text):
			types, depth = types+1, 1
			continue
		case depth == 1 && line == 0 && declares.MatchString(text):
			line = i + 1
		}
		if depth > 0 {
			code, _, _ := strings.Cut(text, "`") // braces in tags are none
			code, _, _ = strings.Cut(code, "//")
			depth += strings.Count(code, "{") - strings.Count(code, "}")
		}
	}
	return line, types
}

// Beside returns a position in the package other, given the position of anything in the package pkg. The
// result is right if the two lie in one tree as their import paths do, such as in one module.
func Beside(where, pkg, other string) string {
	file, found := fileOf(where)
	way, err := filepath.Rel(filepath.FromSlash(pkg), filepath.FromSlash(other))
	if !found || err != nil {
		return ""
	}
	return filepath.Join(filepath.Dir(file), way, "any.go") + ":1"
}

// Constants reports whether a package declares constants of the named type with their values, and the
// files with that are at hand. where is file:line of anything in the package. A type whose doc comment
// has the line //kagami:open has none: other values are also meant.
func Constants(where, typeName string) bool {
	declares := regexp.MustCompile(`(?m)^\s*(?:const\s+)?\w+\s+` + regexp.QuoteMeta(typeName) + `\s*=`)
	group := regexp.MustCompile(`(?ms)^const\s*(?:\(.*?^\)|[^(\n]*$)`)
	open := regexp.MustCompile(`(?m)^\s*//kagami:open\s*\n(?:\s*//.*\n)*\s*(?:type\s+)?` + regexp.QuoteMeta(typeName) + `\s`)
	has := false
	for _, source := range sourcesBeside(where) {
		text, err := os.ReadFile(source)
		if err != nil {
			continue
		}
		if open.Match(text) {
			return false
		}
		has = has || slices.ContainsFunc(group.FindAll(text, -1), declares.Match)
	}
	return has
}

// sourcesBeside returns the source files in the directory of file:line.
func sourcesBeside(where string) []string {
	file, found := fileOf(where)
	if !found {
		return nil
	}
	sources, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "*.go")) // nil if the directory is not a pattern
	return sources
}

// fileOf returns the file of file:line.
func fileOf(where string) (file string, found bool) {
	i := strings.LastIndexByte(where, ':')
	if i < 0 {
		return "", false
	}
	return where[:i], true
}
