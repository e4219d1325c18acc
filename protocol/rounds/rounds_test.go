package rounds_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol/rounds"
)

func sample() *rounds.Journal {
	q := func(key string, kind rounds.Kind) rounds.Question {
		return rounds.Question{Key: key, Kind: kind, Fingerprint: rounds.FingerprintOf("elicitation/create", []byte(key))}
	}
	return &rounds.Journal{
		Call: "ABCDEFGH-1z", Round: 3, Expires: time.Unix(1_800_000_000, 0),
		Answers: []rounds.Answer{{Question: q("q1", rounds.Elicit), Value: []byte(`{"action":"accept"}`)}, {Question: q("", rounds.Roots), Value: []byte(`{}`)}},
		Effects: []rounds.Effect{{Key: "charge", Value: []byte(`"id"`)}, {Key: "", Value: nil}},
		Open:    []rounds.Question{q("q3", rounds.Sample)},
	}
}

// TestJournal: what is written is read, and nothing else is.
func TestJournal(t *testing.T) {
	t.Parallel()
	want := sample()
	want.Effects[1].Value = []byte{}
	text := sample().Append(nil)
	got, err := rounds.Parse(text)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v, %v", got, err)
	}
	for i := range text {
		if _, err := rounds.Parse(text[:i]); !errors.Is(err, rounds.ErrMalformed) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
	if _, err := rounds.Parse(append(text, 0)); !errors.Is(err, rounds.ErrMalformed) {
		t.Errorf("with something behind it: %v", err)
	}
	if _, err := rounds.Parse(append([]byte{9}, text[1:]...)); !errors.Is(err, rounds.ErrMalformed) {
		t.Errorf("of another version: %v", err)
	}
}

// TestStable: what clients hold while a server is replaced is read by the next one.
func TestStable(t *testing.T) {
	t.Parallel()
	const text = "010b41424344454647482d317a0380c8ceb40d0202713100a62a13d950a9c711137b22616374696f6e223a22616363657074227d" +
		"000200678bacde33fa1c027b7d0206636861726765042269642200000102713301e80b369582507c47"
	if got := hex.EncodeToString(sample().Append(nil)); got != text {
		t.Errorf("the form of a journal has changed, and its version has not:\n%s\nwas\n%s", got, text)
	}
	s, err := rounds.NewSealer(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := s.Open("U-tFdnm20JqRecKps6kw62QoUMWleVyq4o5hXyG8kueodIc9yg", []byte("use")); string(plain) != "plain" {
		t.Errorf("a state of before: %q, %v", plain, err)
	}
}

// TestParseRefuses what no journal contains.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	endless := bytes.Repeat([]byte{0xff}, 11) // a number that does not end in 64 bits
	for name, text := range map[string][]byte{
		"an endless round":            slices.Concat([]byte{1, 0}, endless, make([]byte, 4)),
		"an endless time":             slices.Concat([]byte{1, 0, 0}, endless, make([]byte, 3)),
		"more answers than bytes":     {1, 0, 0, 0, 4, 0, 0},
		"an unknown kind of question": {1, 0, 0, 0, 0, 0, 1, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0},
	} {
		if j, err := rounds.Parse(text); !errors.Is(err, rounds.ErrMalformed) {
			t.Errorf("%s: %+v, %v", name, j, err)
		}
	}
}

// TestRandomSecret: no two processes open each other's states.
func TestRandomSecret(t *testing.T) {
	t.Parallel()
	one, other := rounds.RandomSecret(), rounds.RandomSecret()
	if len(one) != 32 || bytes.Equal(one, other) {
		t.Errorf("%x and %x", one, other)
	}
}

// TestClone: what is added to a copy is not in the original.
func TestClone(t *testing.T) {
	t.Parallel()
	j := sample()
	c := j.Clone()
	c.Answers = append(c.Answers[:1], rounds.Answer{})
	c.Effects[0].Key = "other"
	c.Open = nil
	want := sample()
	if !reflect.DeepEqual(j, want) {
		t.Errorf("%+v", j)
	}
	if _, ok := j.Answered("q1"); !ok {
		t.Error("q1 is not there")
	}
	if _, ok := j.Answered("q3"); ok {
		t.Error("an open question is answered")
	}
}

// TestSealer: only what was sealed for a use opens, for that use.
func TestSealer(t *testing.T) {
	t.Parallel()
	old, fresh := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 16)
	s, err := rounds.NewSealer(old)
	if err != nil {
		t.Fatal(err)
	}
	rotated, _ := rounds.NewSealer(fresh, old)
	dropped, _ := rounds.NewSealer(fresh)
	state := s.Seal([]byte("plain"), []byte("use"))
	if strings.Trim(state, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
		t.Errorf("%q is not URL-safe", state)
	}
	if again := s.Seal([]byte("plain"), []byte("use")); again == state {
		t.Error("two states are equal")
	}
	for name, tt := range map[string]struct {
		s          *rounds.Sealer
		state, use string
		ok         bool
	}{
		"itself":       {s, state, "use", true},
		"rotated":      {rotated, state, "use", true},
		"dropped":      {dropped, state, "use", false},
		"another use":  {s, state, "us", false},
		"empty":        {s, "", "use", false},
		"short":        {s, "AAAA", "use", false},
		"padded":       {s, state + "=", "use", false},
		"a line break": {s, state[:4] + "\n" + state[4:], "use", false},
	} {
		plain, err := tt.s.Open(tt.state, []byte(tt.use))
		if (err == nil) != tt.ok || tt.ok && string(plain) != "plain" || !tt.ok && !errors.Is(err, rounds.ErrState) {
			t.Errorf("%s: %q, %v", name, plain, err)
		}
	}
	for i := range state {
		changed := []byte(state)
		changed[i] = "AB"[changed[i]%2]
		if string(changed) == state {
			continue
		}
		if _, err := s.Open(string(changed), []byte("use")); err == nil {
			t.Errorf("changed at %d, it opens", i)
		}
	}
	for _, secrets := range [][][]byte{{}, {old[:15]}, {old, nil}} {
		if _, err := rounds.NewSealer(secrets...); err == nil {
			t.Errorf("secrets of a wrong length are taken: %d", len(secrets))
		}
	}
}

// FuzzParse: any text is read whole or refused, and what is read is written back.
func FuzzParse(f *testing.F) {
	f.Add(sample().Append(nil))
	f.Add((&rounds.Journal{}).Append(nil))
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, text []byte) {
		j, err := rounds.Parse(text)
		if err != nil {
			return
		}
		again, err := rounds.Parse(j.Append(nil))
		if err != nil || !reflect.DeepEqual(j, again) {
			t.Fatalf("%+v, then %+v (%v)", j, again, err)
		}
	})
}

// FuzzOpen: no text opens that was not sealed.
func FuzzOpen(f *testing.F) {
	s, err := rounds.NewSealer(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		f.Fatal(err)
	}
	f.Add("")
	f.Add(strings.Repeat("A", 64))
	f.Fuzz(func(t *testing.T, state string) {
		if plain, err := s.Open(state, []byte("use")); err == nil {
			t.Fatalf("%q opens as %q", state, plain)
		}
	})
}
