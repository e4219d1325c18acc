package main

import (
	"context"
	"database/sql"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

// newJournal writes down what became of every call of a tool.
func newJournal(db *sql.DB) framework.Middleware {
	return framework.OnToolCall("journal", func(
		ctx context.Context, call *framework.Call, next framework.Next[*protocol.CallToolResult],
	) (*protocol.CallToolResult, error) {
		result, err := next(ctx, call)
		outcome := framework.OutcomeOf(ctx, &framework.Result{Body: result}, err)
		if outcome == framework.OutcomePending { // the user is being asked: there will be another round
			return result, err
		}
		// What happened has happened: also where the caller is gone, and where there is no room to write it down.
		_, failed := db.ExecContext(context.WithoutCancel(ctx), `INSERT INTO journal VALUES (?, ?, ?)`, call.ID, call.Name, outcome)
		if failed != nil {
			framework.ServerFrom(ctx).Logger().Error("a call is not in the journal", zap.String("call", call.ID), zap.Error(failed))
		}
		return result, err
	})
}
