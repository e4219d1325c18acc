package middleware

import "github.com/kagami-mcp/kagami/framework"

// broken is a middleware without Wrap, which Build refuses. Its name says what is wrong.
func broken(problem string) framework.Middleware {
	return framework.Middleware{Name: problem}
}
