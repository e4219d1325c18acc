package framework

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
	"github.com/kagami-mcp/kagami/protocol"
)

var (
	typeMessage     = reflect.TypeFor[protocol.Message]()
	typeResult      = reflect.TypeFor[protocol.Result]()
	typeChainResult = reflect.TypeFor[Result]()
	typeJSONWriter  = reflect.TypeFor[json.Marshaler]()
	typeTextWriter  = reflect.TypeFor[encoding.TextMarshaler]()
)

// protocolType reports whether t has a meaning in the protocol, but is not sent in its special form here.
// The same goes for the type that t points to or contains as elements. JSON would show its Go
// fields, and would turn an error into a success. For other types, what is "". fix is for tools.
func protocolType(t reflect.Type) (what, fix string) {
	for seen := map[reflect.Type]bool{}; ; t = t.Elem() {
		if seen[t] || reflect.PointerTo(t).Implements(typeJSONWriter) || reflect.PointerTo(t).Implements(typeTextWriter) {
			return "", ""
		}
		seen[t] = true
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			continue
		default:
			return meant(t)
		}
	}
}

// meant returns the meaning of a type in the protocol, or "". t must not be a pointer, list or map.
func meant(t reflect.Type) (what, fix string) {
	switch {
	case t == typeError:
		return "an error", "Return it beside the result, which may be a struct{}"
	case t == typeChainResult:
		return "a result", fixResult
	case isRich(t):
		return "a Rich", "Return " + t.String()
	case t.PkgPath() != typeBlock.PkgPath():
		return embedded(t)
	case t.Implements(typeBlock):
		return "blocks", "Return framework.Content"
	case t == typeContents:
		return "contents", "Return framework.Embedded, or make it a resource"
	case t == typeMessage:
		return "messages", "Make it a prompt, or return framework.Content"
	case t.Implements(typeResult), reflect.PointerTo(t).Implements(typeResult):
		return "a result", fixResult
	}
	return "", ""
}

// embedded returns the meaning of a struct that t embeds, or "". The Go fields of that struct would
// become members of the JSON.
func embedded(t reflect.Type) (what, fix string) {
	if t.Kind() != reflect.Struct {
		return "", ""
	}
	for f := range t.Fields() {
		if !f.Anonymous {
			continue
		}
		if what, _ := protocolType(f.Type); what != "" {
			return what, "Return a framework.Rich whose Value has the other members"
		}
	}
	return "", ""
}

const fixResult = "Return framework.Content or a framework.Rich, and a failure as the error, or by Rich.IsError"

// notMeant returns the fault of a tool whose result type is one that almost reports, or nil.
func notMeant(t reflect.Type) []binding.Fault {
	what, fix := protocolType(t)
	if what == "" {
		return nil
	}
	return []binding.Fault{{Path: "Out", Problem: "the result " + t.String() + " would be sent as JSON, not as " + what, Fix: fix}}
}

// barred is like notMeant, for the value of an interface. Its type is known only at run time.
func barred(t reflect.Type) error {
	if what, fix := protocolType(t); what != "" {
		return fmt.Errorf("a %s would be sent as JSON, not as %s. %s", t, what, fix)
	}
	return nil
}
