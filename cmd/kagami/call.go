package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/framework/serve/surface/contract"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// toolError is a tool result with isError set. Its text goes to stderr without a prefix.
type toolError struct{ text string }

func (e *toolError) Error() string { return e.text }

func (a *cli) callCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "call SERVER TOOL [key=value ... | JSON]",
		Short: "Call a tool",
		Long: `Call a tool and print its result.

Arguments are key=value pairs or one JSON object. Values get the types of the tool's schema.
Write a list with commas, by repeating the key, or as JSON. Write an object as JSON or with
dotted keys (from.city=Kyoto). key=@FILE sends the content of a file, and key=@- sends
stdin. For a text that begins with @, write @@. If the only argument is - or @FILE, stdin
or the file is the JSON object with all arguments.

-o writes the images, audio and embedded files of the result to a file. If there are
several, each file after the first gets a number: shot.png, shot-2.png. If there are none,
-o writes the text of the result.
` + taskHelp,
		Example: `  kagami call ./examples/weather forecast city=Kyoto days=2
  kagami call ./examples/weather forecast '{"city":"Kyoto"}' --json
  kagami call http://localhost:8080/mcp save name=notes.txt data=@notes.txt
  kagami call compare cities=Kyoto,Oslo -- ./weather --stdio
  kagami call http://localhost:8080/mcp book --answers answers.json
  kagami call http://localhost:8080/mcp render scene=7 --task --detach`,
		RunE: func(cmd *cobra.Command, args []string) error {
			server, rest, err := a.arguments(cmd, args, "TOOL", "...")
			if err != nil {
				return err
			}
			if err := a.tasks.check(); err != nil {
				return err
			}
			if a.json && a.output != "" {
				return errOutputJSON
			}
			if a.tasks.task && !a.tasks.detach {
				a.unhurried(cmd)
			}
			return a.session(cmd.Context(), server, func(ctx context.Context, c *client.Client) error {
				return a.call(ctx, c, server, rest[0], rest[1:])
			}, a.watch()...)
		},
	}
	cmd.Flags().BoolVar(&a.progress, "progress", false, "show progress and log messages on stderr")
	cmd.Flags().StringVarP(&a.output, "output", "o", "", "write the images, audio or embedded files of the result to this `FILE`")
	a.tasks.register(cmd)
	a.questionFlags(cmd)
	a.completes(cmd, toolWords)
	return cmd
}

// watch returns the client options of --progress.
func (a *cli) watch() []client.Option {
	if !a.progress {
		return nil
	}
	return []client.Option{
		client.LogLevel(protocol.LevelInfo),
		client.OnNotification(func(_ context.Context, n protocol.Notification) { printNotification(visible{a.errs}, n) }),
	}
}

func (a *cli) call(ctx context.Context, c *client.Client, server []string, name string, args []string) error {
	all, kept, err := a.toolsFor(ctx, c, server, name)
	if err != nil {
		return err
	}
	tool, _ := toolNamed(all, name)
	arguments, err := toolArguments(tool.InputSchema, args, a.in)
	if err != nil {
		return usagef("%s: %w", name, err)
	}
	switch {
	case a.tasks.task:
		err = a.callTask(ctx, c, server, name, arguments)
	case a.json:
		err = a.callRaw(ctx, c, name, arguments)
	default:
		err = a.callAndPrint(ctx, c, name, arguments)
	}
	if err != nil && kept { // the tool may have changed since it was listed
		_ = os.Remove(a.listFile(server, surface.Tools))
	}
	if err != nil && tool.TaskSupport == protocol.TaskRequired && !a.tasks.task {
		err = fmt.Errorf("%w\nThe tool runs only as a task: call it with --task.", err) //nolint:revive,staticcheck // full sentences for a person
	}
	return withSimilar(a.suggestAnswers(err, c.Revision()), name, "tool", all)
}

// saysItCannotAsk matches the errors of servers that cannot send requests in the middle of a call.
var saysItCannotAsk = regexp.MustCompile(`(?i)(elicit|sampling|createmessage|roots|\bask).*(not support|not possible|unsupported|does not|doesn't|cannot|can't|unable|unavailable|not available|no session|without)|(not support|not possible|unsupported|cannot|can't|unable|unavailable|not available).*(elicit|sampling|createmessage|roots|\bask)`)

// Errors of saysItCannotAsk that are about roots or the model. All others are about the user.
var (
	aboutRoots = regexp.MustCompile(`(?i)\broots\b`)
	aboutModel = regexp.MustCompile(`(?i)sampling|createmessage|\bmodel\b`)
)

// suggestAnswers adds to the error of a server that cannot ask what the user can do: answer the
// question, or call at a revision at which servers send such requests.
func (a *cli) suggestAnswers(err error, spoken string) error {
	if err == nil || !saysItCannotAsk.MatchString(err.Error()) {
		return err
	}
	if fault, ok := errors.AsType[*protocol.Fault](err); ok && fault.Kind == protocol.FaultMissingCapability {
		return err // see remedy
	}
	q, bad := a.asker()
	if bad != nil || q == nil {
		return err
	}
	const asksUser = "2025-06-18" // the first revision with elicitation
	roots, model := aboutRoots.MatchString(err.Error()), aboutModel.MatchString(err.Error())
	earlier := contract.ListsTasks().String()
	switch {
	case roots && q.roots == nil:
		return fmt.Errorf("%w\nThe server asks for directories: give --root DIR.", err) //nolint:revive,staticcheck // sentences for a person
	case !roots && q.source == nil && (q.model == "" || !model):
		return fmt.Errorf("%w\nRun it in a terminal to answer, or give --answers (--sample for a model).", err) //nolint:revive,staticcheck // sentences for a person
	case !roots && !model && spoken < asksUser:
		return fmt.Errorf("%w\nOn revision %s servers cannot ask the user: try --revision %s.", err, spoken, earlier) //nolint:revive,staticcheck // sentences for a person
	case a.revision == "" && spoken > earlier:
		return fmt.Errorf("%w\nOn revision %s servers ask in another way: try --revision %s.", err, spoken, earlier) //nolint:revive,staticcheck // sentences for a person
	}
	return err
}

// wantProgress returns the call options that ask the server for progress. A terminal shows progress
// as a bar. With --progress, the options of watch print it instead.
func (a *cli) wantProgress() []client.CallOption {
	if a.progress {
		return []client.CallOption{client.OnProgress(func(protocol.Progress) {})}
	}
	if terminal, ok := a.errs.(*screen); ok {
		return []client.CallOption{client.OnProgress(terminal.show)}
	}
	return nil
}

func (a *cli) callAndPrint(ctx context.Context, c *client.Client, name string, arguments json.RawMessage) error {
	result, err := c.CallTool(ctx, name, arguments, a.wantProgress()...)
	if err != nil {
		return err
	}
	return a.printCall(result)
}

// printCall prints a result. If the tool failed, printCall returns a *toolError instead.
func (a *cli) printCall(result *protocol.CallToolResult) error {
	var text strings.Builder
	if a.output != "" && !result.IsError {
		return a.saveResult(result)
	}
	printResult(&text, result)
	if result.IsError {
		return &toolError{strings.TrimRight(text.String(), "\n")}
	}
	_, err := io.WriteString(a.out, text.String())
	return err
}

// callRaw calls a tool and prints the raw result.
func (a *cli) callRaw(ctx context.Context, c *client.Client, name string, arguments json.RawMessage) error {
	raw, err := request(ctx, c, protocol.MethodCallTool, struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments,omitempty"`
	}{name, arguments}, a.wantProgress()...)
	if err != nil {
		return err
	}
	return a.printRaw(raw)
}

// printRaw prints a raw result. If the result has isError set, printRaw returns a *toolError.
func (a *cli) printRaw(raw json.RawMessage) error {
	if err := printJSON(a.out, raw); err != nil {
		return err
	}
	var result struct {
		IsError bool `json:"isError"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return fmt.Errorf("reading the result: %w", err)
	}
	if !result.IsError {
		return nil
	}
	var texts []string
	for _, block := range result.Content {
		if block.Text != "" {
			texts = append(texts, block.Text)
		}
	}
	return &toolError{strings.Join(texts, "\n")}
}

// printNotification prints a progress or log message on one line.
func printNotification(w io.Writer, n protocol.Notification) {
	switch n.Method {
	case protocol.NotificationProgress:
		var p struct {
			Progress json.Number `json:"progress"`
			Total    json.Number `json:"total"`
			Message  string      `json:"message"`
		}
		if json.Unmarshal(n.Params, &p) != nil {
			return
		}
		done := p.Progress.String()
		if p.Total != "" {
			done += "/" + p.Total.String()
		}
		_, _ = fmt.Fprintln(w, onOneLine(done+" "+p.Message))
	case protocol.NotificationMessage:
		var m struct {
			Level string          `json:"level"`
			Data  json.RawMessage `json:"data"`
		}
		if json.Unmarshal(n.Params, &m) != nil {
			return
		}
		_, _ = fmt.Fprintln(w, onOneLine(m.Level+": "+logText(m.Data)))
	}
}

// logText returns a log message for a person. Structured loggers send an object with the text in
// its member message. logText puts that text first, and then the other members.
func logText(data json.RawMessage) string {
	var text string
	if json.Unmarshal(data, &text) == nil {
		return text
	}
	v, _ := parseValue(data) // data is part of a message, so it is JSON
	var fields []string
	for i, name := range v.names {
		switch {
		case name == "message" && v.items[i].scalar():
			text = v.items[i].text
		case v.items[i].scalar():
			fields = append(fields, name+"="+v.items[i].text)
		default:
			fields = append(fields, name+"="+string(v.items[i].raw))
		}
	}
	if text == "" {
		return string(data)
	}
	return strings.Join(append([]string{text}, fields...), " ")
}
