package sample

import (
	"fmt"
	"strings"
)

// Empty is the input of tools that need none.
type Empty struct{}

// EmptySchema is its schema, for those who take one.
const EmptySchema = `{"type":"object","properties":{},"additionalProperties":false}`

// Blob returns the result of the tool blob: 256 KB of text. Every fifth character is a quote or a
// newline, so JSON has to escape it.
func Blob() string {
	const size = 256 << 10
	var b strings.Builder
	for b.Len() < size {
		b.WriteString("word\"line\n")
	}
	return b.String()[:size]
}

// NotifyIn is the input of the tool notify.
type NotifyIn struct {
	N int `json:"n" doc:"how many reports" validate:"min=1,max=1000000"`
}

// NotifySchema is its schema, for those who take one.
const NotifySchema = `{"type":"object","properties":{` +
	`"n":{"type":"integer","description":"how many reports","minimum":1,"maximum":1000000}},` +
	`"required":["n"],"additionalProperties":false}`

// ExtraIn is the input of the tools that only fill a list.
type ExtraIn struct {
	Path      string `json:"path" doc:"where to look" validate:"min=1,max=1024"`
	Pattern   string `json:"pattern" doc:"what to look for" validate:"max=256"`
	Kind      string `json:"kind" doc:"what it may be" validate:"oneof=file directory link"`
	Depth     int    `json:"depth" doc:"how deep to look" validate:"min=0,max=64"`
	Recursive bool   `json:"recursive" doc:"whether to go on below"`
}

// ExtraSchema is its schema, for those who take one.
const ExtraSchema = `{"type":"object","properties":{` +
	`"path":{"type":"string","description":"where to look","minLength":1,"maxLength":1024},` +
	`"pattern":{"type":"string","description":"what to look for","maxLength":256},` +
	`"kind":{"type":"string","description":"what it may be","enum":["file","directory","link"]},` +
	`"depth":{"type":"integer","description":"how deep to look","minimum":0,"maximum":64},` +
	`"recursive":{"type":"boolean","description":"whether to go on below"}},` +
	`"required":["path","pattern","kind","depth","recursive"],"additionalProperties":false}`

// Extra is what such a tool answers.
func Extra(in ExtraIn) AddOut { return AddOut{Sum: in.Depth} }

// ExtraName is the name of the ith.
func ExtraName(i int) string { return fmt.Sprintf("extra_%04d", i) }

// Descriptions of the tools, the same for all.
const (
	AddText    = "Add two numbers."
	SearchText = "Search the library."
	BlobText   = "Return a large text."
	NotifyText = "Report progress some times."
	ExtraText  = "Look for files below a directory, and say how deep one has to go."
)

// Template is the ith resource template; they differ in their scheme, so that a
// server has to find the one that fits. They are registered from the last to the first,
// so that one who looks at each in turn finds the first, which is read, at the end.
func Template(i int) string { return fmt.Sprintf("shelf%03d://{id}", i) }

// TemplateName is its name.
func TemplateName(i int) string { return fmt.Sprintf("shelf%03d", i) }

// ResourceURI is a resource of the ith template.
func ResourceURI(i int) string { return fmt.Sprintf("shelf%03d://17", i) }

// Page is what such a resource holds.
func Page(id string) string { return "page " + id + " of a book about mirrors" }

// MIME is the type of all resources.
const MIME = "text/plain"
