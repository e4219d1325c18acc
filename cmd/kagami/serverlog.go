package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/mattn/go-isatty"
)

// serverLog is the stderr of a server that the command has started. It prints the lines in a
// readable form, or keeps the last ones for the case that the server does not start.
//
// The mutex guards part and last, because the process writes on one goroutine and the command ends
// on another.
type serverLog struct {
	to      io.Writer // nil if lines are only kept
	screen  *screen   // nil without colors
	shown   bool      // on a terminal; otherwise the text is passed on unchanged
	verbose bool
	keep    int // how many lines are kept

	mu   sync.Mutex
	part []byte   // start of a line that has no end yet
	last []string // lines that were not shown
}

// Bounds of the log. The kept lines are shown if the server does not start.
const (
	keptLines   = 10
	keptReport  = 200      // for a server that is only started as a check
	longestLine = 64 << 10 // bytes; a longer line is split
)

// newServerLog returns the stderr for a server that a command starts.
func (a *cli) newServerLog() *serverLog {
	l := &serverLog{to: a.errs, verbose: a.verbose, keep: keptLines}
	l.screen, l.shown = a.errs.(*screen)
	if f, ok := a.errs.(*os.File); ok { // without colors: TERM is dumb, or f is a file
		l.shown = isatty.IsTerminal(f.Fd())
	}
	if a.quiet {
		l.to = nil
	}
	return l
}

// Write accepts any part of the stream. It does not fail, because an error would stop the server.
func (l *serverLog) Write(text []byte) (int, error) {
	if l.to != nil && !l.shown {
		_, _ = l.to.Write(text)
		return len(text), nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.part = append(l.part, text...)
	for {
		line, rest, whole := bytes.Cut(l.part, []byte("\n"))
		if !whole && len(l.part) < longestLine {
			return len(text), nil
		}
		l.line(string(line))
		l.part = rest
	}
}

// line prints or keeps one line. The caller holds mu.
func (l *serverLog) line(text string) {
	if l.to == nil {
		if l.last = append(l.last, text); len(l.last) > l.keep {
			l.last = l.last[1:]
		}
		return
	}
	_, _ = io.WriteString(l.to, readable(text, l.verbose, l.screen)+"\n")
}

// finish shows or keeps the end of a log that has no line break. Call it when the server has ended. A
// nil log has none.
func (l *serverLog) finish() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.part) > 0 {
		l.line(string(l.part))
		l.part = nil
	}
}

// unseen returns the last lines that were not shown, after a line break. A nil log has none.
func (l *serverLog) unseen() string {
	if l == nil {
		return ""
	}
	l.finish()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.last) == 0 {
		return ""
	}
	return "\n" + strings.Join(l.last, "\n")
}

// Names of members in structured logs, as zap, slog and others use them. Source lines are shown
// only with --verbose.
var (
	levelNames = []string{"level", "severity", "lvl"}
	textNames  = []string{"msg", "message", "event"}
	timeNames  = []string{"ts", "time", "timestamp", "@timestamp"}
	placeNames = []string{"caller", "where", "function", "logger", "stacktrace", "stack", "source"}
)

// readable returns a log line for a person: the level, the text and the other members. A line that
// is not a JSON object stays as it is.
func readable(line string, verbose bool, s *screen) string {
	var level, text, when string
	var fields []string
	v, err := parseValue([]byte(line))
	if err != nil || !v.object {
		return onTerminal(strings.TrimRight(line, "\r"))
	}
	for i, name := range v.names {
		value := v.items[i].text
		if !v.items[i].scalar() {
			value = string(v.items[i].raw)
		}
		switch value = onOneLine(value); {
		case level == "" && slices.Contains(levelNames, name):
			level = strings.ToLower(value)
		case text == "" && slices.Contains(textNames, name):
			text = value
		case when == "" && slices.Contains(timeNames, name):
			when = value
		case verbose || !slices.Contains(placeNames, name):
			fields = append(fields, name+"="+value)
		}
	}
	if text == "" {
		return onTerminal(line)
	}
	looks := dim
	switch {
	case strings.HasPrefix(level, "warn"):
		looks = yellow
	case strings.HasPrefix(level, "err"), strings.HasPrefix(level, "fatal"), strings.HasPrefix(level, "panic"), strings.HasPrefix(level, "crit"):
		looks = red
	}
	words := []string{s.paint(looks, onTerminal(fmt.Sprintf("%-5s", level))), onTerminal(text)}
	if verbose && when != "" {
		words = append([]string{onTerminal(when)}, words...)
	}
	if len(fields) > 0 {
		words = append(words, s.paint(dim, onTerminal(strings.Join(fields, " "))))
	}
	return strings.Join(words, "  ")
}

// onTerminal escapes control characters, so that the terminal does not interpret them.
func onTerminal(text string) string {
	var out strings.Builder
	_, _ = visible{&out}.Write([]byte(text))
	return out.String()
}
