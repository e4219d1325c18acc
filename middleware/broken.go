package middleware

import "github.com/kagami-mcp/kagami/framework"

// broken has no Wrap: Build refuses it, and its name says why.
func broken(problem string) framework.Middleware {
	return framework.Middleware{Name: problem}
}
