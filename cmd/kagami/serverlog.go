package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

// serverLog is the stderr of a server that the command has started: its lines are shown to a person in a
// readable form, or kept for the case that the server does not start.
//
// The mutex guards the buffer: the process's output and the end of the command are on two goroutines.
type serverLog struct {
	to      io.Writer // nil if lines are only kept
	screen  *screen   // nil if lines are passed on unchanged
	verbose bool
	keep    int // how many lines are kept

	mu   sync.Mutex
	part []byte   // a line without its end
	last []string // lines that were not shown
}

// keptLines are shown if the server does not start.
const (
	keptLines   = 10
	keptReport  = 200 // of a server that is started to see whether it does
	longestLine = 64 << 10
)

// newServerLog returns the stderr for a server.
func (a *cli) newServerLog() *serverLog {
	l := &serverLog{to: a.errs, verbose: a.verbose, keep: keptLines}
	l.screen, _ = a.errs.(*screen)
	if a.quiet {
		l.to = nil
	}
	return l
}

// Write takes any part of the stream. It does not fail, because an error would stop the server.
func (l *serverLog) Write(text []byte) (int, error) {
	if l.to != nil && l.screen == nil {
		return l.to.Write(text)
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

// line is called with mu locked.
func (l *serverLog) line(text string) {
	if l.to == nil {
		if l.last = append(l.last, text); len(l.last) > l.keep {
			l.last = l.last[1:]
		}
		return
	}
	_, _ = io.WriteString(l.to, readable(text, l.verbose, l.screen)+"\n")
}

// unseen returns the last lines that were not shown. A nil log has none.
func (l *serverLog) unseen() string {
	if l == nil {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.last) == 0 {
		return ""
	}
	return "\n" + strings.Join(l.last, "\n")
}

// Members of structured logs, under the names that zap, slog and others give them. Places are for --verbose.
var (
	levelNames = []string{"level", "severity", "lvl"}
	textNames  = []string{"msg", "message", "event"}
	timeNames  = []string{"ts", "time", "timestamp", "@timestamp"}
	placeNames = []string{"caller", "where", "function", "logger", "stacktrace", "stack", "source"}
)

// readable is a line of a log for a person: level, text, and the other members. A line that is not JSON
// stays as it is.
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

// onTerminal shows control characters instead of obeying them.
func onTerminal(text string) string {
	var out strings.Builder
	_, _ = visible{&out}.Write([]byte(text))
	return out.String()
}
