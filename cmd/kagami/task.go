package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

const taskHelp = `
With --task a long call may become a task, which continues after the request. --wait, the
default, shows the state of the task on stderr, asks you its questions, and prints the
result. The default of --timeout then does not apply. Ctrl-C leaves the task running.
--detach prints the ID of the task and exits. Use "kagami tasks" later; its "result" also
asks you the questions of the task. If the server answers at once, there is no task and
the result is printed.

The server decides who can find a task again. A server that kagami has started ends with
the command. Its tasks end too, unless it keeps them in a store. At a URL on 2026-07-28,
the ID is enough. On 2025-11-25 a task belongs to the principal that made it: use the same
--bearer or --header. Without a principal it belongs to a session that ends with the
command. All tasks expire. --ttl asks for a lifetime, which only 2025-11-25 supports.`

// taskFlags are flags of call.
type taskFlags struct {
	task, wait, detach bool
	ttl                time.Duration
}

func (f *taskFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.task, "task", false, "let the call become a task")
	flags.BoolVar(&f.wait, "wait", false, "with --task: wait for the result (default)")
	flags.BoolVar(&f.detach, "detach", false, "with --task: print the ID of the task and exit")
	flags.DurationVar(&f.ttl, "ttl", 0, "with --task: requested lifetime of the task")
}

func (f *taskFlags) check() error {
	switch {
	case !f.task && (f.wait || f.detach || f.ttl != 0):
		return usagef("--wait, --detach and --ttl need --task")
	case f.wait && f.detach:
		return usagef("--wait and --detach exclude each other")
	case f.ttl < 0:
		return usagef("--ttl must be positive")
	}
	return nil
}

// unhurried removes the default time limit, because a task may take hours. A limit that the user
// has set stays.
func (a *cli) unhurried(cmd *cobra.Command) {
	if !cmd.Flags().Changed("timeout") {
		a.timeout = 0
	}
}

// callTask calls a tool, and waits for its task or leaves it running.
func (a *cli) callTask(ctx context.Context, c *client.Client, server []string, name string, arguments json.RawMessage) error {
	t, err := c.CallTask(ctx, name, arguments, append(a.taskWatch(), client.TaskTTL(a.tasks.ttl))...)
	switch {
	case err != nil:
		return err
	case t.ID() == "":
		a.say("the server answered at once, without a task (revision %s)", c.Revision())
	case a.tasks.detach:
		return a.leave(server, t)
	}
	return a.await(ctx, server, t)
}

// taskWatch returns call options that print each state of a task, except the last one. The result
// shows the last one.
func (a *cli) taskWatch() []client.CallOption {
	errs, first := visible{a.errs}, true
	opts := []client.CallOption{client.OnTask(func(t protocol.Task) {
		switch {
		case first:
			first = false
			_, _ = fmt.Fprintf(errs, "task %s: %s\n", t.ID, stateLine(&t))
		case t.Status == protocol.TaskWorking, t.Status == protocol.TaskInputRequired:
			_, _ = fmt.Fprintln(errs, stateLine(&t))
		default:
		}
	})}
	if a.tasks.detach {
		return opts
	}
	return append(opts, client.OnProgress(func(p protocol.Progress) {
		if a.progress { // watch prints it
			return
		}
		if terminal, ok := a.errs.(*screen); ok {
			terminal.show(p)
			return
		}
		done := fmt.Sprint(p.Done)
		if p.Total > 0 {
			done += "/" + fmt.Sprint(p.Total)
		}
		_, _ = fmt.Fprintln(errs, onOneLine(done+" "+p.Message))
	}))
}

func stateLine(t *protocol.Task) string {
	if t.Message == "" {
		return string(t.Status)
	}
	return string(t.Status) + ": " + onOneLine(t.Message)
}

// await waits for the result and prints it in the same way as call.
func (a *cli) await(ctx context.Context, server []string, t *client.Task) error {
	if !a.json {
		result, err := t.Wait(ctx)
		if err != nil {
			return a.unfinished(server, t, err)
		}
		return a.printCall(result)
	}
	raw, err := t.WaitRaw(ctx)
	if err != nil {
		return a.unfinished(server, t, err)
	}
	return a.printRaw(raw)
}

// unfinished returns err. If the task continues without the command, it first prints how to find
// the task.
func (a *cli) unfinished(server []string, t *client.Task, err error) error {
	if t.ID() != "" && !endedBy(err) {
		a.say("%s", a.whereabouts(server, t, "result"))
	}
	return err
}

// endedBy reports whether err is the outcome of the task itself.
func endedBy(err error) bool {
	return wraps[*protocol.Error](err) || errors.Is(err, client.ErrTaskCancelled) || errors.Is(err, client.ErrTaskGone)
}

// leave prints the ID of the task, and how to ask for it later.
func (a *cli) leave(server []string, t *client.Task) error {
	a.say("%s", a.whereabouts(server, t, "get"))
	if a.json {
		state := t.State()
		return writeJSON(a.out, taskJSON(&state))
	}
	_, err := fmt.Fprintln(a.out, t.ID())
	return err
}

// whereabouts returns a text about what happens to the task when the command ends, and how to ask
// for it.
func (a *cli) whereabouts(server []string, t *client.Task, verb string) string {
	words := []string{"kagami", "tasks", verb, t.ID()}
	url := remote(server)
	if a.serverName != "" { // its configuration has the command line or URL, the environment and the header fields
		server = []string{a.serverName}
	}
	if len(server) == 1 {
		words = slices.Insert(words, 3, server[0])
	}
	if a.revision != "" {
		words = append(words, "--revision", a.revision)
	}
	if len(server) > 1 {
		words = append(append(words, "--"), server...)
	}
	command := shellLine(words, runtime.GOOS)
	switch {
	case !url:
		return "the server was started for this command, and its tasks end with it; if it keeps them in a store, ask with:\n  " + command
	case t.Bound() && a.anonymous():
		return "the task ends with the session of this command; if the server knows you without --bearer and --header, ask with:\n  " + command
	case !a.anonymous() && a.serverName == "":
		command += " (with the same --bearer and --header)"
	}
	return "the task continues; ask for it with:\n  " + command
}

// say prints a message of the command to stderr.
func (a *cli) say(format string, args ...any) {
	_, _ = fmt.Fprintf(visible{a.errs}, "kagami: "+format+"\n", args...)
}

// shellLine returns words as a command line of a shell of the system.
func shellLine(words []string, system string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = shellWord(word, system)
	}
	return strings.Join(quoted, " ")
}

// shellWord quotes a word if a shell of the system would split or change it.
func shellWord(word, system string) string {
	safe := "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+=,-"
	if system == "windows" {
		safe = strings.NewReplacer("@", "", "%", "", ",", "").Replace(safe) + `\`
	}
	if word != "" && strings.Trim(word, safe) == "" {
		return word
	}
	switch {
	case system == "windows" && !strings.ContainsAny(word, "\"$`%"): // the quotes mean the same in cmd and in PowerShell
		return `"` + atEnd.ReplaceAllString(word, "$1$1") + `"`
	case system == "windows": // only for PowerShell
		return "'" + strings.ReplaceAll(word, "'", "''") + "'"
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
