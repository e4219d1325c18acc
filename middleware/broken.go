package middleware

import "github.com/kagami-mcp/kagami/framework"

// broken returns a middleware without Wrap, which Build refuses. Its name describes the problem.
func broken(problem string) framework.Middleware {
	return framework.Middleware{Name: problem}
}
