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

	"github.com/spf13/cobra"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

const questionHelp = `
A server may ask before it answers: the user by a form or a page to visit, a model,
or for the directories it may work in. In a terminal the questions come to you:
fields are asked one by one, !decline refuses, !cancel or Ctrl-D gives no answer;
pages are shown and never opened; you type what a model would say. With --answers a
FILE answers instead of you, or the JSON that you give in its place: --answers '[true]'.
Where there is neither, the server is told that nobody can be asked; "call --task
--detach" leaves what the task asks to "tasks result". --sample and --root work in all
cases.

FILE is JSON: a list of answers, each used once and in order, or an object with one
answer for each text that a question may contain, used as often as needed. An answer
is an object with the fields of the form, "accept" (all defaults; the page was
visited), "decline" or "cancel", and for a model its text. Of a form with one field its
value is enough; true and false answer a question without fields. In a list
{"match": "some text", "answer": ...} answers the next question that contains the text.
A question without an answer ends the command with exit code 1.`

// source answers what the server asks.
type source interface {
	elicit(ctx context.Context, q *client.ElicitRequest) (*client.ElicitAnswer, error)
	sample(ctx context.Context, q *client.SampleRequest) (string, error)
}

// asker answers what the server asks, one question at a time (client.OneByOne).
type asker struct {
	source source // nil: nobody answers
	model  string // given by --sample; "": the source answers
	roots  []protocol.Root
	limit  *limit // the time limit of the session
}

// questionFlags add the flags of a command in which the server may ask.
func (a *cli) questionFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&a.answers, "answers", "", "answer the server's questions from this JSON `FILE`, or from the JSON itself, such as '[true]'")
	flags.StringVar(&a.sample, "sample", "", "answer sampling requests with this `TEXT`")
	flags.StringArrayVar(&a.roots, "root", nil, "a `DIR` that the server may work in; repeatable")
	cmd.Long += "\n" + questionHelp
	cmd.PreRun = func(*cobra.Command, []string) { a.asks = true }
}

// asker is nil in commands in which no server asks.
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
	} else if in, ok := a.in.(*os.File); ok && isTerminal(in) {
		q.source = newTerminal(in, visible{a.errs})
	} else if a.tasks.detach {
		q.source = nobodyYet{}
	}
	return q, nil
}

// nobodyYet is the source of a call that leaves its task to a later command, which answers the
// questions of the task. Questions from before there is a task have no answer.
type nobodyYet struct{}

func (nobodyYet) elicit(_ context.Context, q *client.ElicitRequest) (*client.ElicitAnswer, error) {
	return nil, tooEarly(q.Message)
}

func (nobodyYet) sample(_ context.Context, q *client.SampleRequest) (string, error) {
	return "", tooEarly(lastText(q))
}

func tooEarly(question string) error {
	return fmt.Errorf("the server asks before there is a task: %q\nRun it in a terminal to answer, or give --answers (--sample for a model)", question)
}

// roots makes file URIs of directories (2026-07-28 client/roots).
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

// options declare only what can be answered: so a server can say at once that it needs more, or
// do without.
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

// failed ends the session if a question has no answer: on handshake revisions only the server
// would learn of it. A refusal is an answer.
func (q *asker) failed(ctx context.Context, err error) error {
	if err != nil && ctx.Err() == nil && !errors.Is(err, client.ErrRejected) {
		q.limit.fail(err)
	}
	return err
}

// lastText is the last text of the messages to a model, shown to a person.
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
