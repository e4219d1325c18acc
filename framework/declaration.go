package framework

import (
	"context"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// alone returns the settings of the component's own options, without the options of groups. It
// ignores options that do not fit, because Build reports them.
func (d *declaration) alone() *settings {
	s := &settings{}
	for _, o := range d.opts {
		if opt, ok := o.(componentOption); ok && d.takes(opt) {
			_ = opt.apply(s)
		}
	}
	return s
}

// takes reports whether the option fits the component.
func (d *declaration) takes(opt componentOption) bool { return opt.fits&(d.kind|d.also) != 0 }

// firstFault returns the text of the first fault that is not a warning.
func firstFault(faults []binding.Fault) string {
	for _, f := range faults {
		if !f.Warning {
			return f.String()
		}
	}
	return "the types are faulty"
}

// checkName reports names that clients would refuse. URIs are checked when they are parsed.
func (b *builder) checkName(m *member) {
	const fix = "Use letters, digits, _ . and -"
	switch {
	case m.kind&(kindTool|kindPrompt) == 0:
	case m.name == "":
		m.fault(b, "", "the "+m.kind.String()+" has no name", fix)
	case len(m.listed) > 128:
		// 2025-11-25 server/tools "Tool Names": 1 to 128 characters.
		m.fault(b, "", "the name is longer than 128 characters", "Shorten it")
	case m.kind == kindTool && !plainName(m.listed):
		m.fault(b, "", "the name has characters that clients refuse", fix)
	case m.kind == kindPrompt && unprintable(m.listed) != "":
		m.fault(b, "", unprintable(m.listed), fix)
	}
}

// plainName reports whether the name has only characters that 2025-11-25 server/tools allows.
func plainName(name string) bool {
	return strings.Trim(name, beginnings+"0123456789-.") == ""
}

// unprintable returns why a prompt or method cannot have this name, or "". A name that is
// not UTF-8 is changed when it is sent, so clients could not use it.
func unprintable(name string) string {
	switch {
	case !utf8.ValidString(name):
		return "the name is not UTF-8"
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "the name has control characters"
	}
	return ""
}

// stringObject returns a JSON object of strings, or nil if args is nil. Middleware sees the
// arguments of prompts in this form.
func stringObject(args map[string]string) []byte {
	if args == nil {
		return nil
	}
	out := []byte{'{'}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		out = jsonedit.AppendMember(out, name, jsontext.Quote(nil, args[name]))
	}
	return append(out, '}')
}

// withoutMeta returns params without the member _meta, which belongs to the protocol.
func withoutMeta(params []byte) []byte {
	if _, found := jsontext.Member(params, "_meta"); !found {
		return params
	}
	return jsonedit.WithoutMember(params, "_meta")
}

// background returns a context for functions that have none, but call code that needs one.
func background() context.Context {
	return context.Background() //nolint:forbidigo // nothing here is part of a call
}
