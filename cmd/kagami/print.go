package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode"

	"github.com/kagami-mcp/kagami/protocol"
)

// printResult prints a tool's result for a person. It leaves out a text block that only repeats the
// structured content, because the structured form is easier to read.
func printResult(w io.Writer, r *protocol.CallToolResult) {
	printed := false
	for _, block := range r.Content {
		if text, ok := block.(protocol.Text); ok && repeats(text.Text, r.Structured) {
			continue
		}
		printBlock(w, block)
		printed = true
	}
	if len(r.Structured) == 0 {
		return
	}
	if printed {
		_, _ = fmt.Fprintln(w)
	}
	v, _ := parseValue(r.Structured) // the client has checked that it is JSON
	v.print(w, "")
}

// repeats reports whether text is the same JSON value as structured, or as its member "result". On
// 2025-06-18 and 2025-11-25, servers wrap values other than objects in such a member.
func repeats(text string, structured json.RawMessage) bool {
	if len(structured) == 0 {
		return false
	}
	value, ok := decode([]byte(text))
	if !ok {
		value = text
	}
	want, _ := decode(structured) // the client has checked that it is JSON
	if reflect.DeepEqual(value, want) || want == text {
		return true
	}
	wrapped, ok := want.(map[string]any)
	return ok && len(wrapped) == 1 &&
		(reflect.DeepEqual(wrapped["result"], value) || wrapped["result"] == text)
}

// decode decodes JSON, and keeps numbers as they are written.
func decode(raw []byte) (any, bool) {
	if !json.Valid(raw) {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	return v, d.Decode(&v) == nil
}

func printBlock(w io.Writer, block protocol.Block) {
	switch b := block.(type) {
	case protocol.Text:
		_, _ = fmt.Fprintln(w, strings.TrimRight(b.Text, "\n"))
	case protocol.Image:
		_, _ = fmt.Fprintf(w, "[image %s, %s]\n", cmp.Or(b.MIME, unknownType), size(len(b.Data)))
	case protocol.Audio:
		_, _ = fmt.Fprintf(w, "[audio %s, %s]\n", cmp.Or(b.MIME, unknownType), size(len(b.Data)))
	case protocol.Embedded:
		printContents(w, &b.Contents, true)
	case protocol.Link:
		printLink(w, &b)
	case protocol.ToolUse:
		_, _ = fmt.Fprintf(w, "[use of tool %s: %s]\n", b.Name, b.Input)
	case protocol.ToolResult:
		_, _ = fmt.Fprintln(w, "[result of a tool]")
		for _, inner := range b.Content {
			printBlock(w, inner)
		}
	case protocol.Unknown:
		_, _ = fmt.Fprintf(w, "[%s: a block of an unknown type; --json shows it]\n", onTerminal(b.Type))
	}
}

func printLink(w io.Writer, l *protocol.Link) {
	line := "[link " + strings.TrimSpace(cmp.Or(l.Title, l.Name)+" "+l.URI)
	if l.MIME != "" {
		line += ", " + l.MIME
	}
	if l.Size > 0 {
		line += ", " + size(int(l.Size))
	}
	_, _ = fmt.Fprintln(w, line+"]")
	if l.Description != "" {
		printIndented(w, "  ", l.Description)
	}
}

// printContents prints one item of a resource. The heading separates it from other items or blocks.
// JSON is indented.
func printContents(w io.Writer, c *protocol.Contents, heading bool) {
	if c.Data != nil {
		_, _ = fmt.Fprintf(w, "[%s, %s, %s]\n", c.URI, cmp.Or(c.MIME, unknownType), size(len(c.Data)))
		return
	}
	if heading {
		_, _ = fmt.Fprintf(w, "[%s, %s]\n", c.URI, cmp.Or(c.MIME, unknownType))
	}
	text := strings.TrimRight(c.Text, "\n")
	var pretty bytes.Buffer
	if isJSON(c.MIME) && json.Indent(&pretty, []byte(text), "", "  ") == nil {
		text = pretty.String()
	}
	_, _ = fmt.Fprintln(w, text)
}

func isJSON(mime string) bool {
	mime, _, _ = strings.Cut(mime, ";")
	return mime == "application/json" || strings.HasSuffix(mime, "+json")
}

func printMessages(w io.Writer, p *protocol.GetPromptResult) {
	if p.Description != "" {
		_, _ = fmt.Fprintf(w, "%s\n\n", p.Description)
	}
	for i, m := range p.Messages {
		if i > 0 {
			_, _ = fmt.Fprintln(w)
		}
		_, _ = fmt.Fprintf(w, "%s:\n", m.Role)
		printBlocks(w, "  ", m.Blocks())
	}
}

func printBlocks(w io.Writer, indent string, blocks []protocol.Block) {
	var text bytes.Buffer
	for _, block := range blocks {
		printBlock(&text, block)
	}
	printIndented(w, indent, text.String())
}

func printJSON(w io.Writer, raw json.RawMessage) error {
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, raw, "", "  "); err != nil {
		return err
	}
	pretty.WriteByte('\n')
	_, err := w.Write(pretty.Bytes())
	return err
}

// unknownType is the text for a MIME type that the server does not send.
const unknownType = "of unknown type"

// size returns a number of bytes in a unit that people use.
func size(n int) string {
	const kilo = 1000
	switch {
	case n == 1:
		return "1 byte"
	case n < kilo:
		return fmt.Sprintf("%d bytes", n)
	case n < kilo*kilo:
		return fmt.Sprintf("%.1f kB", float64(n)/kilo)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(kilo*kilo))
}

// visible is a writer that escapes control characters, so that a server cannot move the cursor or
// change the title of the terminal. It also escapes characters that change the direction of text,
// because they can make one URL look like another.
type visible struct{ w io.Writer }

// Write returns len(p) if it has written all of p in escaped form.
func (v visible) Write(p []byte) (int, error) {
	var out strings.Builder
	for _, r := range string(p) {
		switch {
		case unicode.IsControl(r) && r != '\n' && r != '\t':
			fmt.Fprintf(&out, `\x%02x`, r)
		case unicode.Is(unicode.Bidi_Control, r):
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteRune(r)
		}
	}
	if _, err := io.WriteString(v.w, out.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// kept is a writer that keeps its first error, because the functions that print ignore errors.
type kept struct {
	w      io.Writer
	before *screen // the bar of this screen is removed before each write; may be nil
	err    error
	wrote  bool
}

// Write does nothing after the first error, and returns that error again.
func (k *kept) Write(p []byte) (n int, err error) {
	k.before.clear()
	k.wrote = k.wrote || len(p) > 0
	if k.err == nil {
		n, k.err = k.w.Write(p)
	}
	return n, k.err
}
