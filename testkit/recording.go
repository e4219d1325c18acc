package testkit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// recordVersion of the format.
const recordVersion = 1

// recordHead is the first line of a record.
type recordHead struct {
	Version  int      `json:"testkit"`
	Revision string   `json:"revision"`
	User     string   `json:"user,omitempty"`
	Scopes   []string `json:"scopes,omitempty"`
}

// recordLine is one frame: JSON, or as a JSON string what is none.
type recordLine struct {
	Client any `json:"client,omitempty"`
	Server any `json:"server,omitempty"`
}

// Record the session's frames, redacted and normalised, to a file. It is written when
// the test ends, unless that failed, with all frames of the session from its beginning,
// one a line, which [Replay] holds against another version of the server.
//
// Redacted are the strings under names that speak of passwords, tokens, secrets and
// keys, what is under the names of [Redact], the same texts wherever else they are, and
// whatever looks like a bearer token. What is another in each run has a name instead:
// ids of tasks and of questions, states of calls, times.
func (s *Session) Record(path string) {
	s.t.Helper()
	if s.chaos.Load() != nil {
		s.t.Fatalf("testkit: Record of a session under Chaos, which has many servers")
	}
	s.t.Cleanup(func() {
		s.t.Helper()
		if s.t.Failed() {
			return
		}
		frames, dropped := s.wire.exchange.all()
		if dropped > 0 {
			s.t.Errorf("testkit: Record(%q): the session has more than %d MiB", path, exchangeBytes>>20)
			return
		}
		if err := s.save(path, frames); err != nil {
			s.t.Errorf("testkit: Record(%q): %v", path, err)
		}
	})
}

func (s *Session) save(path string, frames []frame) error {
	head := recordHead{Version: recordVersion, Revision: s.config.dialect.String()}
	if p := s.config.principal; p != nil {
		head.User, head.Scopes = p.Subject, p.Scopes
	}
	var text bytes.Buffer
	lines := json.NewEncoder(&text)
	lines.SetEscapeHTML(false)
	if err := lines.Encode(head); err != nil {
		return fmt.Errorf("writing the head: %w", err)
	}
	n := normal{secret: s.config.secrets, names: make(map[string]string)}
	for _, f := range frames {
		v := n.frame(f.text)
		line := recordLine{Server: v}
		if f.sent {
			line = recordLine{Client: v}
		}
		if err := lines.Encode(line); err != nil {
			return fmt.Errorf("writing a frame: %w", err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		return fmt.Errorf("writing the file: %w", err)
	}
	return nil
}

// Redact keeps strings and numbers under these names out of records, in any letter case.
func Redact(names ...string) Option {
	return optionFunc(func(c *config) { c.secrets = append(slices.Clip(c.secrets), names...) })
}

// What stands in a record for what must not, or cannot, be there.
const (
	redacted = "<redacted>"
	sometime = "<time>"
)

// normal makes frames the same in each run.
type normal struct {
	secret []string
	names  map[string]string // by value: "<taskId 1>", or redacted
	last   map[string]int    // by member: the last number that was given
}

// frame is its JSON with names for what varies, or a string.
func (n *normal) frame(text []byte) any {
	v, err := decodeAny(text)
	if err != nil {
		return string(text)
	}
	n.collect(v)
	return n.walk("", v)
}

func decodeAny(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err = d.Decode(&v); err == nil && d.More() {
		err = fmt.Errorf("more than one JSON text: %s", text)
	}
	return v, err
}

// varies says whether a member is another in each run.
func varies(member string) bool {
	switch member {
	case "taskId", "requestState", "elicitationId", "sessionId":
		return true
	}
	return false
}

// collect names what varies, so that it has its name wherever it is.
func (n *normal) collect(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			n.collect(e)
		}
	case map[string]any:
		for _, member := range sortedKeys(v) {
			value, _ := v[member].(string)
			switch {
			case value != "" && varies(member):
				n.name(member, value)
			case len(value) >= shortestSecret && n.hides(member):
				n.names[value] = redacted
			}
			n.collect(v[member])
		}
	}
}

func (n *normal) name(member, value string) {
	if _, known := n.names[value]; known {
		return
	}
	if n.last == nil {
		n.last = make(map[string]int)
	}
	n.last[member]++
	n.names[value] = fmt.Sprintf("<%s %d>", member, n.last[member])
}

func (n *normal) walk(member string, v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = n.walk(member, e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			out[name] = n.walk(name, e)
		}
		return out
	case string:
		return n.text(member, v)
	case json.Number:
		if n.asked(member) {
			return redacted
		}
	}
	return v
}

// text is a string as it may be kept.
func (n *normal) text(member, value string) string {
	if name, ok := n.names[value]; ok {
		return name
	}
	if n.hides(member) {
		return redacted
	}
	if _, err := time.Parse(time.RFC3339Nano, value); err == nil {
		return sometime
	}
	if member == "method" {
		return value
	}
	for long, name := range n.names {
		if name == redacted || len(long) >= shortestName {
			value = strings.ReplaceAll(value, long, name)
		}
	}
	return bearer().ReplaceAllString(value, redacted)
}

// shortestName is how long a value is at least that has its name also as a part of
// another, and shortestSecret one that is redacted there: shorter ones are there by
// chance.
const (
	shortestName   = 12
	shortestSecret = 4
)

func (n *normal) hides(member string) bool {
	if strings.EqualFold(member, "progressToken") {
		return false
	}
	low := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(member))
	for _, word := range []string{"password", "passwd", "passphrase", "secret", "token", "apikey", "privatekey", "authorization", "credential"} {
		if strings.Contains(low, word) {
			return true
		}
	}
	return n.asked(member)
}

// asked says whether Redact has the name.
func (n *normal) asked(member string) bool {
	return slices.ContainsFunc(n.secret, func(s string) bool { return strings.EqualFold(s, member) })
}

// bearer is what looks like a token wherever it is: after the word, or a JWT.
func bearer() *regexp.Regexp {
	return regexp.MustCompile(`(?i:\bbearer\s+)[\w.~+/=-]{8,}|\beyJ[\w-]{8,}\.[\w-]+\.[\w-]+`)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
