package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/testkit/bench/internal/load"
)

// result is what the answers of all targets to one request have in common: how they name
// the members of a schema, and what else they say, is theirs.
type result struct {
	Content    []content `json:"content"`
	Structured any       `json:"structuredContent"`
	Contents   []struct{ URI, MIMEType, Text string }
	Tools      []struct{ Name, Description string }
}

type content struct {
	Type string `json:"type"`
	Text any    `json:"text"` // decoded, if it is JSON
}

// sampled is the answer of the first target, which the echoes repeat; nil before it.
type sampled struct{ first *load.Answer }

// compare keeps the first answer, and demands that the others are the same.
func (s *sampled) compare(a load.Answer, err error) error {
	if err != nil {
		return err
	}
	if s.first == nil {
		s.first = &a
	}
	return same(*s.first, a)
}

// same demands that an answer says what the first target has said: later ones are looked
// at for their ids only, and what is cheaper because it says less must not count.
func same(first, other load.Answer) error {
	want, err := resultOf(first)
	if err != nil {
		return err
	}
	got, err := resultOf(other)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("the answer is not the one of the first target: %.300s", other.Body)
	}
	return nil
}

// resultOf reads the result in an answer, or in a stream that ends with it.
func resultOf(a load.Answer) (*result, error) {
	text := a.Body
	if a.SSE {
		load.Events(a.Body, func(message []byte) { text = message })
	}
	var m struct{ Result *result }
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("reading the answer: %w: %.300s", err, text)
	}
	r := m.Result
	if r == nil {
		return nil, errors.New("no result in the answer")
	}
	for i, c := range r.Content {
		if words, ok := c.Text.(string); ok {
			var value any
			if json.Unmarshal([]byte(words), &value) == nil {
				r.Content[i].Text = value
			}
		}
	}
	slices.SortFunc(r.Tools, func(a, b struct{ Name, Description string }) int { return strings.Compare(a.Name, b.Name) })
	return r, nil
}
