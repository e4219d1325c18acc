package main

import (
	"context"
	"database/sql"
	"fmt"

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
		// What happened has happened, also where the caller is gone.
		_, failed := db.ExecContext(context.WithoutCancel(ctx), `INSERT INTO journal VALUES (?, ?, ?)`, call.ID, call.Name, outcome)
		if failed != nil {
			return nil, fmt.Errorf("writing the journal: %w", failed)
		}
		return result, err
	})
}
