package main

import (
	"strings"
	"testing"
)

func TestPicturesAreCurrent(t *testing.T) {
	t.Parallel()
	if err := run(".", true); err != nil {
		t.Fatal(err)
	}
}

func TestFaultsAreFound(t *testing.T) {
	t.Parallel()
	const head = "size 200 100\ntitle T\ndesc D\n"
	for name, test := range map[string]struct{ source, want string }{
		"unknown command": {head + "circle 1 2", `line 4: unknown command "circle"`},
		"no title":        {"size 200 100", "title or desc is missing"},
		"text too wide":   {head + "box a 0 0 40 40 | a long name", "does not fit"},
		"text outside":    {head + "text 199 10 | word", "does not fit"},
		"overlap":         {head + "text 100 50 | word\ntext 105 55 | other", "overlaps"},
		"unknown box":     {head + "arrow a.e 10,10", `no box "a"`},
		"unknown side":    {head + "box a 0 0 40 40\narrow a.x 10,10", "a side is"},
		"too few numbers": {head + "box a 0 0", "got 2 numbers, want 4"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := parse(test.source); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}
