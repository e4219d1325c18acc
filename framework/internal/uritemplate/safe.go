package uritemplate

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrUnsafe is wrapped by the error of a URI that is of the template but carries
// a value that no handler should see.
var ErrUnsafe = errors.New("unsafe value")

// maxURI is the longest URI that is looked at: the carriers only bound whole
// frames, in megabytes, and a URI is tried against every template there is.
const maxURI = 64 << 10

// unsafe wraps ErrUnsafe with a reason. The value itself stays out of the text:
// it comes from outside and may end in a log.
func unsafe(reason string) error { return fmt.Errorf("%w: %s", ErrUnsafe, reason) }

// trust is what a value may be.
type trust int

const (
	segment trust = iota // of one part of a path: no slash, however it is written
	path                 // slashes may stand in it: of {+x} and {#x}, or as the program allows
	data                 // of a query: any text
)

// decode undoes the escapes of a value, once, and checks what came out.
func decode(text string, may trust) (string, error) {
	value, err := url.PathUnescape(text)
	if err != nil {
		return "", unsafe("broken percent escape")
	}
	if may == segment && slashes(value) > slashes(text) {
		return "", unsafe("escaped slash or backslash")
	}
	if reason := danger(value, may); reason != "" {
		return "", unsafe(reason)
	}
	return value, nil
}

func slashes(text string) int { return strings.Count(text, "/") + strings.Count(text, `\`) }

// danger returns the reason why a value is dangerous as a file name, although it is harmless as
// text. It returns "" for other values. Values of a query are data: they only have to be valid
// UTF-8 without NUL.
func danger(value string, may trust) string {
	switch {
	case !utf8.ValidString(value):
		return "not valid UTF-8"
	case strings.Contains(value, "\x00"), may != data && strings.ContainsFunc(value, unicode.IsControl):
		return "control character"
	case may == data:
		return ""
	case strings.HasPrefix(value, "/"), strings.HasPrefix(value, `\`):
		return "begins with a slash or backslash"
	}
	isSlash := func(r rune) bool { return r == '/' || r == '\\' }
	for segment := range strings.FieldsFuncSeq(value, isSlash) {
		if segment == ".." || segment == "." {
			return strconv.Quote(segment) + " as a path segment"
		}
	}
	switch {
	case may == path && hasDrive(value):
		return "begins with a drive"
	case may == segment && strings.Contains(value, `\`): // on Windows it separates as well
		return "backslash"
	}
	return ""
}

// hasDrive reports whether a path begins with a Windows drive, such as C:/data.
func hasDrive(path string) bool {
	return len(path) >= 2 && path[1] == ':' && unicode.IsLetter(rune(path[0])) && (len(path) == 2 || path[2] == '/' || path[2] == '\\')
}
