package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/testkit/bench/internal/sample"
)

// tasks are n that have ended and are kept.
func tasks(ctx context.Context, n int) (found figures, err error) {
	app := newApp().Add(framework.Tool("long", func(_ context.Context, in sample.AddIn) (sample.AddOut, error) {
		return sample.Add(in), nil
	}, framework.Describe(sample.AddText), framework.Task(framework.TaskOptional)))
	server, err := app.Build()
	if err != nil {
		return nil, err
	}
	if err := server.Start(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Shutdown(ctx)) }()
	c, err := client.Connect(ctx, client.InMemory(server), client.Revisions(withTasksOfSessions()))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	before := live()
	for range n {
		if _, err := one(ctx, c); err != nil {
			return nil, err
		}
	}
	found = figures{"weight": (live() - before) / float64(n) / 1024}
	found["life"], err = each(batch, func() error { _, err := one(ctx, c); return err })
	if err != nil {
		return nil, err
	}
	last, err := one(ctx, c)
	if err != nil {
		return nil, err
	}
	if found["poll"], err = each(batch, func() error { _, err := last.Get(ctx); return err }); err != nil {
		return nil, err
	}
	found["call"], err = each(batch, func() error {
		_, err := c.CallTool(ctx, "add", json.RawMessage(sample.AddCall))
		return err
	})
	return found, err
}

// withTasksOfSessions is the revision whose tasks/result waits.
func withTasksOfSessions() protocol.Revision {
	for _, revision := range protocol.Revisions() {
		if revision.String() == "2025-11-25" {
			return revision
		}
	}
	return protocol.Revision{}
}

// one makes a task and waits for its result, without looking now and then.
func one(ctx context.Context, c *client.Client) (*client.Task, error) {
	made, err := c.CallTask(ctx, "long", json.RawMessage(sample.AddCall))
	if err != nil {
		return nil, fmt.Errorf("making a task: %w", err)
	}
	_, err = c.Request(ctx, "tasks/result", json.RawMessage(`{"taskId":"`+made.ID()+`"}`))
	return made, err
}
