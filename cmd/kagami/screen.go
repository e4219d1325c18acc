package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/mattn/go-isatty"
	"github.com/mattn/go-runewidth"

	"github.com/kagami-mcp/kagami/protocol"
)

// Escape sequences that set the style of the text after them.
const (
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	cyan   = "\x1b[36m"
	usual  = "\x1b[0m"

	eraseLine = "\r\x1b[K"
)

// Columns of a bar, and of the longest line with a bar.
const (
	barWidth = 20
	mostBar  = 76
)

// screen is a terminal. It shows at most one line with a bar below all other text.
//
// The mutex guards the state and the order of writes, because a server's log and its progress
// arrive on different goroutines.
type screen struct {
	w     io.Writer
	color bool
	plain bool // it prints escape sequences as text
	width int  // 0 if unknown

	mu     sync.Mutex
	inLine bool // the last text did not end with a line break
	bar    bool // a bar is visible
}

// newScreen returns a screen for f. If f is not a terminal, or TERM is dumb, it returns nil.
func newScreen(f *os.File) *screen {
	if !isatty.IsTerminal(f.Fd()) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	s := &screen{w: f, width: widthOf(f), color: os.Getenv("NO_COLOR") == ""}
	if !enableEscapes(f) {
		s.color, s.plain = false, true
	}
	return s
}

// Write removes the bar and writes the text unchanged.
func (s *screen) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	if len(text) > 0 {
		s.inLine = text[len(text)-1] != '\n'
	}
	return s.w.Write(text)
}

// erase removes the bar. The caller holds mu.
func (s *screen) erase() {
	if s.bar {
		erase := eraseLine
		if s.plain {
			erase = "\r" + strings.Repeat(" ", s.longestBar()) + "\r"
		}
		_, _ = io.WriteString(s.w, erase)
		s.bar = false
	}
}

// longestBar returns the number of columns that a line with a bar may have.
func (s *screen) longestBar() int {
	if s.width > 0 {
		return min(mostBar, s.width-1)
	}
	return mostBar
}

// clear removes the bar. A nil screen has no bar.
func (s *screen) clear() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
}

// show draws the bar of a progress notification, unless the cursor is after a question.
func (s *screen) show(p protocol.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inLine {
		return
	}
	s.erase()
	s.bar = true
	_, _ = io.WriteString(s.w, cutTo(barOf(p), s.longestBar()))
}

// barOf returns a line that shows the progress. The numbers of a server may have any value.
func barOf(p protocol.Progress) string {
	text := fmt.Sprintf("%v %s", p.Done, onOneLine(p.Message))
	if p.Total > 0 && p.Done >= 0 && !math.IsInf(p.Total, 0) {
		done := int(barWidth * min(p.Done/p.Total, 1))
		text = fmt.Sprintf("[%s%s] %v/%v %s", strings.Repeat("#", done), strings.Repeat("-", barWidth-done), p.Done, p.Total, onOneLine(p.Message))
	}
	return onTerminal(strings.TrimSpace(text))
}

// columns counts the columns of texts as terminals outside East Asia do. Wide characters take two.
var columns = &runewidth.Condition{}

// cutTo shortens a line to at most this number of columns.
func cutTo(line string, most int) string { return columns.Truncate(line, most, "…") }

// fitting returns how many characters of a text fit into this number of columns. It looks at the first
// part of a long text only, so that wrapping takes linear time.
func fitting(text []rune, width int) int {
	text = text[:min(len(text), 8*max(width, 1))] // marks take no column
	return utf8.RuneCountInString(columns.Truncate(string(text), width, ""))
}

// paint sets the style of a text if the screen has colors.
func (s *screen) paint(looks, text string) string {
	if s == nil || !s.color || text == "" {
		return text
	}
	return looks + text + usual
}

// sheet formats a listing: it wraps lines, and sets the style of headings and names. The text comes
// from a server, so sheet escapes control characters.
func (s *screen) sheet(text string) string {
	var out strings.Builder
	for line := range strings.Lines(onTerminal(text)) {
		line = strings.TrimSuffix(line, "\n")
		indent := len(line) - len(strings.TrimLeft(line, " "))
		parts := wrap(line, s.width)
		heading := indent == 0 && len(parts) == 1 && !strings.Contains(line, "  ") // a row of a table has columns
		for i, part := range parts {
			switch {
			case heading:
				part = s.paint(bold, part)
			case i == 0 && indent == 2:
				name, rest, _ := strings.Cut(part[2:], " ")
				part = strings.TrimRight("  "+s.paint(cyan, name)+" "+rest, " ")
			}
			out.WriteString(part + "\n")
		}
	}
	return out.String()
}

// leastWidth is the smallest width at which lines are wrapped.
const leastWidth = 40

// wrap breaks a line between words. Later parts begin below the last column of the first part, that
// is, after its last two spaces in a row. If the line has no columns, they keep its indent.
func wrap(line string, width int) []string {
	rest := []rune(line)
	if width < leastWidth || fitting(rest, width) == len(rest) {
		return []string{line}
	}
	hang := min(len(line)-len(strings.TrimLeft(line, " ")), width/2) // or a part would have nothing but its indent
	least := hang
	if column := strings.LastIndex(line, "  "); column > hang && columns.StringWidth(line[:column+2]) <= width/2 {
		hang, least = columns.StringWidth(line[:column+2]), utf8.RuneCountInString(line[:column+2])
	}
	var parts []string
	indent := ""
	for end := fitting(rest, width); end < len(rest); end = fitting(rest, width-hang) {
		most := end
		for end > least && rest[end] != ' ' {
			end--
		}
		if end == least { // one long word
			end = most
		}
		parts = append(parts, strings.TrimRight(indent+string(rest[:end]), " "))
		for rest = rest[end:]; len(rest) > 0 && rest[0] == ' '; {
			rest = rest[1:]
		}
		indent, least = strings.Repeat(" ", hang), 0
	}
	return append(parts, indent+string(rest))
}

// print writes a listing for a person to stdout.
func (a *cli) print(text string) error {
	if a.sheet == nil {
		_, err := io.WriteString(a.out, text)
		return err
	}
	_, err := io.WriteString(a.sheet, a.sheet.sheet(text))
	return err
}
