package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

const questionHelp = `
A server may ask before it answers. It asks the user with a form or a page, asks a model,
or asks for the directories that it may use. In a terminal you answer: fields are
asked one by one, !decline refuses, and !cancel or Ctrl-D gives no answer. The URL of a
page is shown, but not opened. If a model is asked, you type its answer. With --answers, a
FILE or JSON such as --answers '[true]' answers instead. Without a terminal and --answers,
the server cannot ask. "call --task --detach" leaves the questions of the task to "tasks
result". --sample and --root always work.

FILE is JSON. A list has answers that are used once and in order. An object has one answer
for each text that a question may contain, and each is used as often as needed. An answer
is an object with the fields of the form, "accept" (all defaults, or the page was visited),
"decline" or "cancel". The answer of a model is its text. For a form with one field, its
value is enough. true and false answer a question without fields. In a list,
{"match": "some text", "answer": ...} answers the next question that contains the text.
A question without an answer ends the command with exit code 1.`

// source answers the questions of a server.
type source interface {
	elicit(ctx context.Context, q *client.ElicitRequest) (*client.ElicitAnswer, error)
	sample(ctx context.Context, q *client.SampleRequest) (string, error)
}

// asker answers the questions of a server, one at a time (client.OneByOne).
type asker struct {
	source source // nil: the user cannot be asked
	model  string // text of --sample; "": the source answers for the model
	roots  []protocol.Root
	limit  *limit // the time limit of the session
}

// questionFlags adds the flags for questions to a command. The server may ask during this command.
func (a *cli) questionFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&a.answers, "answers", "", "answer the server's questions from this JSON `FILE`, or from the JSON itself, such as '[true]'")
	flags.StringVar(&a.sample, "sample", "", "answer sampling requests with this `TEXT`")
	flags.StringArrayVar(&a.roots, "root", nil, "a `DIR` that the server may work in; repeatable")
	cmd.Long += "\n" + questionHelp
	cmd.PreRun = func(*cobra.Command, []string) { a.asks = true }
}

// asker returns nil if the server cannot ask during the command.
func (a *cli) asker() (*asker, error) {
	if !a.asks {
		return nil, nil
	}
	q := &asker{model: a.sample}
	var err error
	if q.roots, err = roots(a.roots); err != nil {
		return nil, &usageError{err}
	}
	if a.answers != "" {
		q.source, err = readAnswers(a.answers)
		if err != nil {
			return nil, usagef("--answers: %w", err)
		}
	} else if in, ok := a.in.(*os.File); ok && isatty.IsTerminal(in.Fd()) {
		q.source = newTerminal(in, visible{a.errs})
	} else if a.tasks.detach {
		q.source = nobodyYet{}
	}
	return q, nil
}

// nobodyYet is the source of a call that leaves its task to a later command. That command answers
// the questions of the task. Questions before the task exists have no answer.
type nobodyYet struct{}

func (nobodyYet) elicit(_ context.Context, q *client.ElicitRequest) (*client.ElicitAnswer, error) {
	return nil, tooEarly(q.Message)
}

func (nobodyYet) sample(_ context.Context, q *client.SampleRequest) (string, error) {
	return "", tooEarly(lastText(q))
}

func tooEarly(question string) error {
	return fmt.Errorf("the server asks before the task exists: %q\nRun it in a terminal to answer, or give --answers (--sample for a model)", question)
}

// roots returns the file URIs of directories (2026-07-28 client/roots).
func roots(dirs []string) ([]protocol.Root, error) {
	var all []protocol.Root
	for _, dir := range dirs {
		path, err := filepath.Abs(dir)
		if err != nil {
			return nil, fmt.Errorf("--root: %w", err)
		}
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			if err == nil || errors.Is(err, fs.ErrNotExist) {
				err = errors.New("no such directory")
			}
			return nil, fmt.Errorf("--root %s: %w", dir, err)
		}
		slashed := filepath.ToSlash(path)
		if !strings.HasPrefix(slashed, "/") { // a drive letter
			slashed = "/" + slashed
		}
		all = append(all, protocol.Root{URI: (&url.URL{Scheme: "file", Path: slashed}).String(), Name: filepath.Base(path)})
	}
	return all, nil
}

// options returns client options that declare only what can be answered. A server can then report
// at once that it needs more, or work without it.
func (q *asker) options(l *limit) []client.Option {
	if q == nil {
		return nil
	}
	q.limit = l
	var opts []client.Option
	if q.source != nil {
		opts = append(opts, client.OnElicit(q.elicit), client.OneByOne())
	}
	if q.source != nil || q.model != "" {
		opts = append(opts, client.OnSample(q.answerSample))
	}
	if q.roots != nil {
		opts = append(opts, client.OnRoots(func(context.Context) ([]protocol.Root, error) { return q.roots, nil }))
	}
	return opts
}

func (q *asker) elicit(ctx context.Context, r *client.ElicitRequest) (*client.ElicitAnswer, error) {
	q.limit.hold()
	defer q.limit.release()
	answer, err := q.source.elicit(ctx, r)
	return answer, q.failed(ctx, err)
}

func (q *asker) answerSample(ctx context.Context, r *client.SampleRequest) (*client.SampleAnswer, error) {
	text, err := q.model, error(nil)
	if text == "" {
		q.limit.hold()
		defer q.limit.release()
		text, err = q.source.sample(ctx, r)
	}
	if err := q.failed(ctx, err); err != nil {
		return nil, err
	}
	return &client.SampleAnswer{
		Model: "kagami", Content: []protocol.Block{protocol.Text{Text: text}}, StopReason: "endTurn",
	}, nil
}

// failed ends the session if a question has no answer. On revisions with a handshake, only the
// server would otherwise receive the error. A refusal is an answer and does not end the session.
func (q *asker) failed(ctx context.Context, err error) error {
	if err != nil && ctx.Err() == nil && !errors.Is(err, client.ErrRejected) {
		q.limit.fail(err)
	}
	return err
}

// lastText returns the text of the last message to a model.
func lastText(q *client.SampleRequest) string {
	if len(q.Messages) == 0 {
		return ""
	}
	var texts []string
	for _, block := range q.Messages[len(q.Messages)-1].Blocks() {
		if text, ok := block.(protocol.Text); ok {
			texts = append(texts, text.Text)
		}
	}
	return strings.Join(texts, "\n")
}
