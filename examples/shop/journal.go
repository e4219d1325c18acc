package main

import (
	"context"
	"database/sql"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

// newJournal returns a middleware that records the outcome of every tool call.
func newJournal(db *sql.DB) framework.Middleware {
	return framework.OnToolCall("journal", func(
		ctx context.Context, call *framework.Call, next framework.Next[*protocol.CallToolResult],
	) (*protocol.CallToolResult, error) {
		result, err := next(ctx, call)
		outcome := framework.OutcomeOf(ctx, &framework.Result{Body: result}, err)
		if outcome == framework.OutcomePending { // the call asks a question and continues in a later round
			return result, err
		}
		// Record the call even if the caller has disconnected. If recording fails, the result of
		// the call does not change.
		_, failed := db.ExecContext(context.WithoutCancel(ctx), `INSERT INTO journal VALUES (?, ?, ?)`, call.ID, call.Name, outcome)
		if failed != nil {
			framework.ServerFrom(ctx).Logger().Error("a call is not in the journal", zap.String("call", call.ID), zap.Error(failed))
		}
		return result, err
	})
}
