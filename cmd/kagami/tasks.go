package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// tasksCommand returns the command tasks, for tasks of earlier calls.
func (a *cli) tasksCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "tasks", Short: "List, read and cancel tasks",
		Long: `List, read and cancel the tasks of earlier calls (kagami call --task).

The server decides who can find a task again. A server that kagami starts has only the
tasks that it keeps in a store. At a URL on 2026-07-28, the ID of the task is enough. On
2025-11-25 a task belongs to the principal that made it: use the same --bearer.`,
		Example: `  id=$(kagami call http://localhost:8080/mcp render --task --detach)
  kagami tasks get http://localhost:8080/mcp "$id"
  kagami tasks result http://localhost:8080/mcp "$id"
  kagami tasks list http://localhost:8080/mcp --bearer "$TOKEN" --revision 2025-11-25`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q: want list, get, result or cancel", "tasks "+args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.taskListCommand(), a.taskGetCommand(), a.taskResultCommand(), a.taskCancelCommand())
	return cmd
}

func (a *cli) taskListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list SERVER", Short: "List your tasks (2025-11-25)",
		RunE: a.onServer(func(ctx context.Context, server []string) error { return a.session(ctx, server, a.listTasks) }),
	}
}

func (a *cli) listTasks(ctx context.Context, c *client.Client) error {
	all := []shownTask{}
	for t, err := range c.Tasks(ctx) {
		if errors.Is(err, client.ErrNoTasks) && a.revision == "" {
			return fmt.Errorf("%w\nOnly 2025-11-25 has a list of tasks: try --revision 2025-11-25.", err) //nolint:revive,staticcheck // full sentences for a person
		}
		if err != nil {
			return err
		}
		all = append(all, taskJSON(&t))
		if a.json {
			continue
		}
		if _, err := fmt.Fprintf(a.out, "%s  %s  %s\n", onOneLine(t.ID), t.Created.Local().Format(time.DateTime), stateLine(&t)); err != nil {
			return err
		}
	}
	if a.json {
		return writeJSON(a.out, map[string]any{"tasks": all})
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(a.out, "The server lists no task of yours.")
		return err
	}
	return nil
}

// ofTask returns a command for one task.
func (a *cli) ofTask(use, short string, body func(ctx context.Context, c *client.Client, server []string, id string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short,
		RunE: func(cmd *cobra.Command, args []string) error {
			server, rest, err := a.arguments(cmd, args, "ID")
			if err != nil {
				return err
			}
			if a.asks {
				a.unhurried(cmd)
			}
			return a.session(cmd.Context(), server, func(ctx context.Context, c *client.Client) error {
				return body(ctx, c, server, rest[0])
			})
		},
	}
}

func (a *cli) taskGetCommand() *cobra.Command {
	return a.ofTask("get SERVER ID", "Show the state of a task", func(ctx context.Context, c *client.Client, _ []string, id string) error {
		t, err := c.Task(id).Get(ctx)
		if err != nil {
			return err
		}
		if a.json {
			return writeJSON(a.out, taskJSON(&t))
		}
		printTask(a.out, &t)
		return nil
	})
}

func (a *cli) taskCancelCommand() *cobra.Command {
	return a.ofTask("cancel SERVER ID", "Cancel a task", func(ctx context.Context, c *client.Client, _ []string, id string) error {
		t := c.Task(id)
		if err := t.Cancel(ctx); err != nil {
			return err
		}
		a.say("the server was asked to cancel the task")
		return nil
	})
}

func (a *cli) taskResultCommand() *cobra.Command {
	cmd := a.ofTask("result SERVER ID", "Wait for a task and print its result", func(ctx context.Context, c *client.Client, server []string, id string) error {
		return a.await(ctx, server, c.Task(id, a.taskWatch()...))
	})
	cmd.Long = "Wait for a task, answer its questions, and print its result as kagami call does.\nThe default of --timeout does not apply. Ctrl-C leaves the task running."
	a.questionFlags(cmd)
	return cmd
}

func printTask(w io.Writer, t *protocol.Task) {
	life := "does not expire"
	if t.TTL != nil {
		ttl := min(max(*t.TTL, 0), math.MaxInt64/int64(time.Millisecond)) // bounded, because a server may send any number
		life = "expires " + t.Created.Add(time.Duration(ttl)*time.Millisecond).Local().Format(time.DateTime)
	}
	_, _ = fmt.Fprintf(w, "%s\ncreated %s, updated %s, %s\n", stateLine(t),
		t.Created.Local().Format(time.DateTime), t.Updated.Local().Format(time.DateTime), life)
}

// shownTask is a task as --json prints it. Its form is the same for all revisions.
type shownTask struct {
	ID      string    `json:"taskId"`
	Status  string    `json:"status"`
	Message string    `json:"statusMessage,omitempty"`
	Created time.Time `json:"createdAt"`
	Updated time.Time `json:"lastUpdatedAt"`
	TTL     *int64    `json:"ttlMs"`
	Poll    int64     `json:"pollIntervalMs,omitempty"`
}

func taskJSON(t *protocol.Task) shownTask {
	return shownTask{t.ID, string(t.Status), t.Message, t.Created, t.Updated, t.TTL, t.PollInterval}
}

func writeJSON(w io.Writer, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return printJSON(w, raw)
}
