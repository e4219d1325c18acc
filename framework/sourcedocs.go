package framework

import (
	"runtime"

	"github.com/kagami-mcp/kagami/framework/internal/callsite"
	"github.com/kagami-mcp/kagami/framework/internal/sourcedoc"
)

// RegisterDocs registers doc comments of the calling package as descriptions. The code that "kagami gen"
// writes calls it from an init function, before Build. The keys are:
//
//	Func           the description of a component made from this function
//	Type.Method    the same of a method
//	Type.Field     the description of a member, for structs that are declared with a name
//	Type=value     the description of a constant, for types with a method Values
//
// Describe and the tag doc have precedence. If a key is registered twice, the last text counts.
// RegisterDocs may be called concurrently.
func RegisterDocs(docs map[string]string) {
	pc, _, _, ok := runtime.Caller(1)
	if !ok {
		return
	}
	sourcedoc.Add(callsite.PackageOf(runtime.FuncForPC(pc)), docs)
}

// sourceDoc returns the doc comment of the function that the component is made from, or "".
func (d *declaration) sourceDoc() string { return sourcedoc.Func(d.pkg, d.function) }
