package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
)

func TestWrap(t *testing.T) {
	t.Parallel()
	const width = 40
	for line, want := range map[string]string{
		"short": "short",
		"    Paint a wall in one of the colors that are in stock, twice.":                         "    Paint a wall in one of the colors\n    that are in stock, twice.",
		"  city     string   The city, one of those that forecast knows":                          "  city     string   The city, one of\n                    those that forecast\n                    knows",
		"    " + strings.Repeat("x", 50):                                                          "    " + strings.Repeat("x", 36) + "\n    " + strings.Repeat("x", 14),
		"    Dès l'été où l'âme est né, tout ça dépend de l'œuvre passée":                         "    Dès l'été où l'âme est né, tout ça\n    dépend de l'œuvre passée",
		"    " + strings.Repeat("鏡", 20):                                                          "    " + strings.Repeat("鏡", 18) + "\n    鏡鏡",
		"    名前を 指定して、人に あいさつを します。ありがとう":                                                         "    名前を 指定して、人に あいさつを\n    します。ありがとう",
		"    Da\u0300i da\u0300i da\u0300i da\u0300i da\u0300i da\u0300i da\u0300i da\u0300i dai": "    Da\u0300i da\u0300i da\u0300i da\u0300i da\u0300i da\u0300i da\u0300i da\u0300i dai",
		"  都市     string   The city, one of those that forecast knows":                            "  都市     string   The city, one of\n                    those that forecast\n                    knows",
		strings.Repeat(" ", 50) + "far away":                                                      "\n" + strings.Repeat(" ", 20) + "far away",
	} {
		if got := strings.Join(wrap(line, width), "\n"); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	if got := wrap(strings.Repeat("x ", 50), 10); len(got) != 1 {
		t.Errorf("a narrow terminal: %q", got)
	}
}

// TestWrapMegabytes checks that the cost of a text grows with its length alone: a server chooses the length.
// It is not parallel, because it counts all memory. It takes 250 bytes for each byte, and a copy of the rest for
// each part would take 80,000.
func TestWrapMegabytes(t *testing.T) {
	line := strings.Repeat("word ", 1<<18)
	used := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			wrap(line, 80)
		}
	}).AllocedBytesPerOp() / int64(len(line))
	if used > 1000 {
		t.Errorf("%d bytes for each byte of the text", used)
	}
}

// TestLogWithoutLineBreak checks that the last words of a server are shown, although no line break
// follows.
func TestLogWithoutLineBreak(t *testing.T) {
	t.Parallel()
	for _, quiet := range []string{"-q", "-q=false"} {
		var errs shared
		a := &cli{out: io.Discard, errs: &screen{w: &errs}}
		if code := a.run(t.Context(), []string{"tools", quiet, "--", "sh", "-c", "printf 'no database' >&2; exit 1"}); code != 4 || !strings.Contains(errs.String(), "no database\n") {
			t.Errorf("%s: exit code %d\n%s", quiet, code, errs.String())
		}
	}
}

// TestReadable checks that each line of a log is one readable line, for all common loggers.
func TestReadable(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][2]string{ // without and with --verbose
		`{"level":"warn","ts":"2026-11-27T21:24:44Z","msg":"a tag","where":"main.go:3"}`: {"warn   a tag", "2026-11-27T21:24:44Z  warn   a tag  where=main.go:3"},
		`{"time":"t","level":"ERROR","msg":"failed","error":"x","n":{"a":1}}`:            {`error  failed  error=x n={"a":1}`, `t  error  failed  error=x n={"a":1}`},
		`{"severity":"info","message":"two\nlines"}`:                                     {"info   two lines", ""},
		`{"name":"no log"}`:                  {`{"name":"no log"}`, ""},
		"INFO  started \x1b[2J":              {`INFO  started \x1b[2J`, ""},
		`{"level":"info","msg":"\u001b[2J"}`: {`info   \x1b[2J`, ""},
		`[1]`:                                {`[1]`, ""},
		``:                                   {``, ""},
	} {
		if got := readable(line, false, nil); got != want[0] {
			t.Errorf("%s: %q, want %q", line, got, want[0])
		}
		if got := readable(line, true, nil); want[1] != "" && got != want[1] {
			t.Errorf("%s: %q, want %q", line, got, want[1])
		}
	}
}

// TestBar checks that a bar is removed before a text, and that no bar follows a question.
func TestBar(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := &screen{w: &out, width: 30}
	s.show(protocol.Progress{Done: 1, Total: 4, Message: "reading"})
	_, _ = s.Write([]byte("a line\n"))
	s.show(protocol.Progress{Done: 2, Message: "\x1b[2J"})
	s.clear()
	_, _ = s.Write([]byte("Your name: "))
	s.show(protocol.Progress{Done: 3})
	_, _ = s.Write([]byte("\n"))
	s.show(protocol.Progress{Done: 9, Total: 4})
	s.clear()
	s.clear()
	want := "[#####---------------] 1/4 re…" + eraseLine + "a line\n" + `2 \x1b[2J` + eraseLine + "Your name: \n[####################] 9/4" + eraseLine
	want = strings.Replace(want, "re…", "r…", 1)
	if out.String() != want {
		t.Errorf("got  %q\nwant %q", out.String(), want)
	}
	out.Reset()
	narrow := &screen{w: &out, width: 40}
	narrow.show(protocol.Progress{Done: 1, Message: strings.Repeat("読む", 20)})
	if want := "1 " + strings.Repeat("読む", 9) + "…"; out.String() != want { // 39 columns, or the terminal breaks the line
		t.Errorf("wide characters: got  %q\nwant %q", out.String(), want)
	}
	out.Reset()
	old := &screen{w: &out, width: 30, plain: true}
	old.show(protocol.Progress{Done: 1, Total: 4, Message: "reading"})
	old.clear()
	if want := "[#####---------------] 1/4 r…\r" + strings.Repeat(" ", 29) + "\r"; out.String() != want {
		t.Errorf("without escape sequences: got  %q\nwant %q", out.String(), want)
	}
	var none *screen
	none.clear()
	if none.paint(red, "x") != "x" {
		t.Error("colors without a terminal")
	}
}

func TestSheet(t *testing.T) {
	t.Parallel()
	const text = "Tools\n  paint (changes data)\n    Paint a wall in one of the colors of \x1b[2J the house.\n"
	colored := &screen{width: 45, color: true}
	want := bold + "Tools" + usual + "\n  " + cyan + "paint" + usual + " (changes data)\n    Paint a wall in one of the colors of\n" + `    \x1b[2J the house.` + "\n"
	if got := colored.sheet(text); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for text, want := range map[string]string{ // no row of a table, and no text of several lines, is a heading
		"tool  paint  Paint.\n":                             "tool  paint  Paint.\n",
		"tool  paint  Paint a wall in one of the colors.\n": "tool  paint  Paint a wall in one of the\n             colors.\n",
		"Paints walls in one of the colors of the house.\n": "Paints walls in one of the colors of the\nhouse.\n",
	} {
		if got := colored.sheet(text); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	if got := (&screen{}).sheet(text); got != strings.Replace(text, "\x1b", `\x1b`, 1) {
		t.Errorf("without colors and width: %q", got)
	}
}

func TestQuietServer(t *testing.T) {
	t.Parallel()
	if _, errs, code := kagami(t, "tools", "-q", "--", "sh", "-c", `echo '{"level":"error","msg":"no database"}' >&2; exit 1`); code != 4 || !strings.Contains(errs, "no database") {
		t.Errorf("a server that does not start: exit code %d\n%s", code, errs)
	}
	if _, errs, code := kagami(t, "tools", "./testdata/warned", "-q"); code != 0 || strings.Contains(errs, "minimum") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
}

// TestLogWithoutLines checks that output without line breaks is not kept whole.
func TestLogWithoutLines(t *testing.T) {
	t.Parallel()
	l := &serverLog{keep: keptLines}
	for range 100 {
		_, _ = l.Write(bytes.Repeat([]byte("."), longestLine/2)) // Write never fails
	}
	if len(l.part) > longestLine || len(l.last) != keptLines {
		t.Errorf("%d bytes and %d lines are kept", len(l.part), len(l.last))
	}
}
