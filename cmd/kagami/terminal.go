package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/client"
)

// Errors for what a user may type instead of an answer.
var (
	errDecline = errors.New("declined")
	errCancel  = errors.New("cancelled")
)

// ctrlD is the character that a Windows console sends for Ctrl-D. In such a console, Ctrl-Z ends the input.
const ctrlD = "\x04"

// terminal asks the user, one question at a time.
type terminal struct {
	in      *bufio.Reader
	out     io.Writer
	lines   chan line // has room for one line
	reading bool      // a goroutine is waiting for a line
}

type line struct {
	text string
	err  error
}

func newTerminal(in io.Reader, out io.Writer) *terminal {
	return &terminal{in: bufio.NewReader(in), out: out, lines: make(chan line, 1)}
}

func (t *terminal) say(format string, args ...any) { _, _ = fmt.Fprintf(t.out, format, args...) }

// read returns the next line that the user types, without the space around it. A read from a terminal
// cannot be interrupted. If ctx ends first, the read continues, and its line belongs to the next
// question. The error at the end of the input is errCancel.
func (t *terminal) read(ctx context.Context, prompt string) (string, error) {
	t.say("%s", prompt)
	if !t.reading {
		t.reading = true
		go func() {
			text, err := t.in.ReadString('\n')
			t.lines <- line{text, err}
		}()
	}
	var got line
	select {
	case got = <-t.lines:
		t.reading = false
	case <-ctx.Done():
		t.say("\n")
		return "", ctx.Err()
	}
	text := strings.TrimSpace(got.text)
	if text == ctrlD || got.err != nil && text == "" { // Ctrl-D, or the terminal is closed
		t.say("\n")
		return "", errCancel
	}
	return text, nil
}

// line returns what the user types as an answer to a server.
func (t *terminal) line(ctx context.Context, prompt string) (string, error) {
	text, err := t.read(ctx, prompt)
	switch {
	case ctx.Err() != nil && err != nil:
		t.say("(the question was withdrawn)\n")
		return "", err
	case err != nil:
		return "", err
	case text == "!cancel":
		return "", errCancel
	case text == "!decline":
		return "", errDecline
	}
	return text, nil
}

// agreed asks the user a question of kagami itself. Only y and yes agree.
func (t *terminal) agreed(ctx context.Context, question string) (bool, error) {
	text, err := t.read(ctx, question+" [y/N] ")
	return strings.EqualFold(text, "y") || strings.EqualFold(text, "yes"), err
}

func (t *terminal) elicit(ctx context.Context, q *client.ElicitRequest) (*client.ElicitAnswer, error) {
	t.say("\nThe server asks:\n")
	printIndented(t.out, "  ", q.Message)
	var content map[string]any
	var err error
	if q.URL != "" {
		err = t.page(ctx, q.URL)
	} else {
		content, err = t.form(ctx, q.Schema)
	}
	switch {
	case errors.Is(err, errDecline):
		return &client.ElicitAnswer{Action: "decline"}, nil
	case errors.Is(err, errCancel):
		return &client.ElicitAnswer{Action: "cancel"}, nil
	case err != nil:
		return nil, err
	}
	return &client.ElicitAnswer{Action: "accept", Content: content}, nil
}

// page shows the URL and its host, and asks the user to open it (2026-07-28 client/elicitation,
// "URL Mode").
func (t *terminal) page(ctx context.Context, page string) error {
	host := "unknown"
	if u, err := url.Parse(page); err == nil {
		host = u.Host
	}
	t.say("It wants you to visit a page:\n  URL:  %s\n  host: %s\nIf you trust the page, open it in your browser.\n", page, host)
	return t.yes(ctx, "Do you agree? [y/n]: ")
}

// yes returns nil if the user agrees, and errDecline if not.
func (t *terminal) yes(ctx context.Context, prompt string) error {
	for {
		text, err := t.line(ctx, prompt)
		if err != nil {
			return err
		}
		if is, ok := yesOrNo(text); ok && is {
			return nil
		} else if ok {
			return errDecline
		}
	}
}

func yesOrNo(text string) (is, ok bool) {
	switch strings.ToLower(text) {
	case "y", "yes", "true":
		return true, true
	case "n", "no", "false":
		return false, true
	}
	return false, false
}

func (t *terminal) form(ctx context.Context, schema []byte) (map[string]any, error) {
	form, err := client.ParseForm(schema)
	if err != nil {
		return nil, err
	}
	t.say("(Enter accepts what is in brackets; !decline refuses; !cancel or Ctrl-D gives no answer.)\n")
	if len(form.Fields) == 0 {
		return nil, t.yes(ctx, "Do you agree? [y/n]: ")
	}
	content := make(map[string]any, len(form.Fields))
	for i := range form.Fields {
		value, err := t.field(ctx, &form.Fields[i])
		if err != nil {
			return nil, err
		}
		if value != nil {
			content[form.Fields[i].Name] = value
		}
	}
	return content, nil
}

// field asks until the user gives a valid value. nil means that the field is left out.
func (t *terminal) field(ctx context.Context, f *client.Field) (json.RawMessage, error) {
	name := onOneLine(f.Name)
	prompt := "  " + name
	if plain(f) {
		name, prompt = "answer", "  answer ("+strings.Join(traits(f), ", ")+")"
		if f.Type == "boolean" {
			prompt = "  [y/n]"
		}
		describeChoices(t.out, f)
	} else {
		describeField(t.out, f)
	}
	if f.Default != nil {
		prompt += " [" + onOneLine(shown(f.Default)) + "]"
	}
	for {
		text, err := t.line(ctx, prompt+": ")
		if err != nil {
			return nil, err
		}
		value, err := fieldValue(f, text)
		if err == nil {
			return value, nil
		}
		t.say("    %s: %v\n", name, err)
	}
}

// sample lets the user answer in place of a model.
func (t *terminal) sample(ctx context.Context, q *client.SampleRequest) (string, error) {
	t.say("\nThe server asks a model (at most %d tokens):\n", q.MaxTokens)
	if q.System != "" {
		t.say("  system:\n")
		printIndented(t.out, "    ", q.System)
	}
	for _, m := range q.Messages {
		t.say("  %s:\n", m.Role)
		printBlocks(t.out, "    ", m.Blocks())
	}
	for _, tool := range q.Tools {
		t.say("  tool %s: %s\n", onOneLine(tool.Name), onOneLine(tool.Description))
	}
	t.say("Type the answer of the model; an empty line ends it. !decline refuses.\n")
	var lines []string
	for {
		text, err := t.line(ctx, "> ")
		switch {
		case errors.Is(err, errDecline), errors.Is(err, errCancel) && len(lines) == 0:
			return "", client.ErrRejected
		case err != nil && !errors.Is(err, errCancel):
			return "", err
		case text != "":
			lines = append(lines, text)
		case len(lines) > 0:
			return strings.Join(lines, "\n"), nil
		}
	}
}
