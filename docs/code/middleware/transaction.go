package main

import (
	"context"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

// Tx is a transaction, such as *sql.Tx.
type Tx interface {
	Commit() error
	Rollback() error
}

type txKey struct{}

// Transaction runs each tool that may change data in a transaction.
func Transaction(begin func(context.Context) (Tx, error)) framework.Middleware {
	return framework.OnToolCall("transaction",
		func(ctx context.Context, call *framework.Call, next framework.Next[*protocol.CallToolResult]) (*protocol.CallToolResult, error) {
			if r := call.Component.Annotations.ReadOnly; r != nil && *r {
				return next(ctx, call)
			}
			tx, err := begin(ctx)
			if err != nil {
				return nil, err
			}
			defer func() { _ = tx.Rollback() }() // does nothing after Commit
			result, err := next(context.WithValue(ctx, txKey{}, tx), call)
			if err != nil || result.IsError {
				return result, err
			}
			return result, tx.Commit()
		})
}
