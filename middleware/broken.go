package middleware

import (
	"reflect"

	"github.com/kagami-mcp/kagami/framework"
)

// broken returns a middleware without Wrap, which Build refuses. Its name describes the problem.
func broken(problem string) framework.Middleware {
	return framework.Middleware{Name: problem}
}

// isNil reports whether an interface is nil or holds a nil pointer, such as the result of a function
// that failed.
func isNil(held any) bool {
	v := reflect.ValueOf(held)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}
