package testkit

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/kagami-mcp/kagami/protocol"
)

// Error is an error as the model sees it: an isError result or a JSON-RPC error.
type Error struct {
	Text   string
	Code   int // JSON-RPC code; 0 for an isError result
	Result *protocol.CallToolResult
}

// Error returns the text, with the code of a JSON-RPC error.
func (e *Error) Error() string {
	if e.Code == 0 {
		return e.Text
	}
	return fmt.Sprintf("%s (JSON-RPC error %d)", e.Text, e.Code)
}

// asError returns a JSON-RPC error of the server as an *Error, or nil if err is another error.
func asError(err error) *Error {
	var refusal *protocol.Error
	if !errors.As(err, &refusal) {
		return nil
	}
	return &Error{Text: refusal.Message, Code: refusal.Code}
}

// wordsOf returns the words in blocks: texts, texts of embedded resources, and the name, URI and
// description of links. Clients before 2025-06-18 get a link as a text.
func wordsOf(blocks []protocol.Block) string {
	var words []string
	for _, b := range blocks {
		switch b := b.(type) {
		case protocol.Text:
			words = append(words, b.Text)
		case protocol.Embedded:
			if b.Contents.Data == nil {
				words = append(words, b.Contents.Text)
			}
		case protocol.Link:
			words = append(words, strings.TrimSpace(cmp.Or(b.Title, b.Name)+" "+b.URI+" "+b.Description))
		}
	}
	return strings.Join(words, "\n")
}
