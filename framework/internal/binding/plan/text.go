package plan

import (
	"encoding/json"
	"errors"
	"net"
	"net/url"
	"path"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// textForm describes a type of the standard library that reads and writes its own text.
type textForm struct {
	words   string // with the article
	Example string
	uri     bool // an absolute URL: format uri
	address bool // an address: formats ipv4 and ipv6, which know no zones
	instant bool // a time as the key of a map: format date-time, which package time is less strict than
	filled  bool // "" is not valid, though UnmarshalText takes it for the zero value
}

// TextForms are the types of the standard library whose text form has a word of its own.
var TextForms = map[reflect.Type]textForm{
	gotype.IPType:       {words: "an IP address", Example: "192.0.2.1", address: true, filled: true},
	gotype.AddrType:     {words: "an IP address", Example: "192.0.2.1", address: true, filled: true},
	gotype.PrefixType:   {words: "an IP prefix such as 10.0.0.0/8", Example: "10.0.0.0/8", filled: true},
	gotype.AddrPortType: {words: "an IP address and port such as 192.0.2.1:443", Example: "192.0.2.1:443", filled: true},
	gotype.URLType:      {words: "an absolute URL such as https://example.com/a", Example: "https://example.com/", uri: true, filled: true},
	gotype.TimeType:     {words: "a time such as 2026-01-31T15:04:05Z", Example: "2026-01-31T15:04:05Z", instant: true},
	gotype.BigFloatType: {words: "a number in quotes such as 1.5", Example: "1.5"},
	gotype.BigRatType:   {words: "a fraction in quotes such as 3/4", Example: "3/4"},
}

// longest is how many bytes a text of the form can have: both sides of a fraction may be as long
// as a number, and addresses and times are short.
func (f textForm) longest() int {
	switch {
	case f.uri:
		return 64 << 10
	case f.address || f.instant || f.filled:
		return 128
	}
	return 2*jsonedit.MaxNumberText + 1
}

// legal reports whether the schema admits text, as far as the type's own method
// does not judge that.
func (f textForm) legal(text string) bool {
	return len(text) <= f.longest() && (!f.filled || text != "") && (!f.address || !strings.Contains(text, "%")) && (!f.instant || strictTime(text))
}

// textSchema names the formats of the usual text types. An output
// has none: the zero value of an address is written as "", which is neither of
// the formats, and readers that assert them would refuse the whole result.
func textSchema(t reflect.Type, mode Mode) schema.Keywords {
	k := schema.Typed("string")
	form, known := TextForms[t]
	if !known {
		k.SetText("description", "The text form of "+gotype.PlainName(t)+".")
		return k
	}
	if form.instant {
		k.SetText("format", "date-time")
	}
	if form.uri && mode != Output {
		k.SetText("format", "uri")
	}
	if form.address && mode != Output {
		k.Set("anyOf", []byte(schema.IPFormats))
	}
	note := strings.ToUpper(form.words[:1]) + form.words[1:]
	if form.filled && mode == Output {
		note += ", or empty"
	}
	k.SetText("description", note+".")
	return k
}

// hint is the text of the method's error, if that was written for the caller.
func (n *MethodNode) hint(err error) string {
	if _, known := TextForms[n.t]; known {
		return "" // the wanted form says it all
	}
	return safeHint(err, n.t)
}

// goWords matches parts of errors that only a Go programmer understands: netip.ParseAddr("x"),
// encoding/hex: …, math/big: …
var goWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b[a-z][a-z0-9]*\.[A-Z]\w*|^[a-z0-9]+(/[a-z0-9]+)+: |^json: `)
})

// safeHint is the text of the error of t's own method. Texts of the standard library, and those
// that name a Go package, do not help a caller, and are left out.
func safeHint(err error, t reflect.Type) string {
	if err == nil || errors.Is(err, errUnreadable) || ofLibrary(err) {
		return ""
	}
	text := strings.TrimSuffix(jsontext.Clip(report.OneLine(err.Error()), 160), ".")
	if text == "" || goWords().MatchString(text) || t.PkgPath() != "" && strings.HasPrefix(text, path.Base(t.PkgPath())+": ") {
		return ""
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:] + "."
}

func ofLibrary(err error) bool {
	return isA[*json.UnmarshalTypeError](err) || isA[*json.SyntaxError](err) || isA[*strconv.NumError](err) ||
		isA[*time.ParseError](err) || isA[*net.ParseError](err) || isA[*url.Error](err)
}

func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
