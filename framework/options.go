package framework

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
	"github.com/kagami-mcp/kagami/protocol"
)

// Option configures a component. Other packages cannot implement it. Build reports an option that
// is nil, does not fit the kind of component, or has an invalid value. If an option is given twice,
// the last one counts. With, Scopes and Exclude accumulate instead, and so do Meta and Complete
// for different names.
type Option interface{ option() }

// componentOption is an Option. It fits the kinds in fits. apply sets the value, and returns a
// problem or "".
type componentOption struct {
	name  string
	fits  kind
	apply func(*settings) (problem string)
}

func (componentOption) option() {}

// completer is the function that Complete takes.
type completer = func(ctx context.Context, prefix string, args map[string]string) ([]string, error)

// settings holds the options of a component.
type settings struct {
	description, title, name string
	icons                    []protocol.Icon
	meta                     protocol.Meta
	annotations              *protocol.Annotations
	hints                    protocol.ToolAnnotations
	scopes                   []string
	timeout                  time.Duration
	groupChain, ownChain     []Middleware
	mime                     string
	size                     int64
	arguments                []protocol.PromptArgument // nil if Arguments was not given: the struct type has them
	completers               map[string]completer
	maySubscribe             func(ctx context.Context, uri string) error
	cache                    protocol.CacheHints
	inputSchema              json.RawMessage
	outputSchema             json.RawMessage
	hidden                   bool
	params                   []string
	task                     *taskSettings
	excluded                 []string // names given to Exclude, for Methods
}

// configure applies the options of the groups, outermost first, and then the component's own
// options. A later option replaces an earlier one, but scopes and middleware add up.
func (b *builder) configure(m *member, layers []*layer) {
	for _, l := range layers {
		for i, o := range l.opts {
			if opt, ok := o.(componentOption); ok && !m.takes(opt) {
				continue // builder.set reports options that fit no member of the group
			}
			l.used[i] = true
			b.option(m, o)
		}
	}
	m.options.groupChain, m.options.ownChain = m.options.ownChain, nil
	for _, o := range m.opts {
		b.option(m, o)
	}
	if m.options.description == "" {
		m.options.description = m.sourceDoc()
	}
	if h := m.options.hints; is(h.ReadOnly) && is(h.Destructive) {
		m.fault(b, "", "a tool that is ReadOnly cannot be Destructive(true)", "Keep one")
	}
	if m.kind != kindMethod && m.options.description == "" {
		fix := `Add Describe("…"): models choose by it`
		if m.wayOut != "" { // an option of Methods would describe all alike
			fix = `Register it with Tool and Describe("…"): models choose by it`
		}
		m.warn(b, "no description", fix)
	}
}

func (b *builder) option(m *member, o Option) {
	opt, ok := o.(componentOption)
	switch {
	case !ok:
		m.fault(b, "", "an option is nil", "Remove it")
	case !m.takes(opt):
		m.fault(b, "", "the option "+opt.name+" does not fit a "+m.kind.String(), "Remove it")
	default:
		if problem := opt.apply(&m.options); problem != "" {
			m.fault(b, "", opt.name+": "+problem, "")
		}
	}
}

func is(b *bool) bool { return b != nil && *b }

func option(name string, fits kind, apply func(*settings)) Option {
	return componentOption{name, fits, checked(true, "", apply)}
}

// Describe sets the description.
func Describe(text string) Option {
	return option("Describe", kindsAll, func(s *settings) { s.description = text })
}

// Title sets the display name. The default is made from the name, such as "Read tool" for
// read_tool, because some clients drop tools without a title.
func Title(text string) Option {
	return option("Title", kindsAll, func(s *settings) { s.title = text })
}

// Name sets the name of a resource or template. By default it is derived from the URI.
func Name(name string) Option {
	return option("Name", kindsRead, func(s *settings) { s.name = name })
}

// Icons sets the icons for user interfaces.
func Icons(icons ...protocol.Icon) Option {
	icons = slices.Clone(icons)
	return componentOption{"Icons", kindsAll &^ kindMethod, func(s *settings) string { return setIcons(&s.icons, icons) }}
}

// Meta adds one member to the _meta of the listed component. Clients see it from 2025-06-18 on. The
// value must have a JSON form and must not change afterwards. The key must not be empty. Meta does
// not check whether the key follows the naming rules of _meta (basic).
func Meta(key string, value any) Option {
	return componentOption{"Meta", kindsAll, func(s *settings) string {
		if key == "" {
			return "the key is empty"
		}
		if _, err := encoded(value); err != nil {
			return "the value of " + key + " has no JSON form: " + err.Error()
		}
		if s.meta == nil {
			s.meta = make(protocol.Meta)
		}
		s.meta[key] = value
		return ""
	}}
}

// Annotate sets the annotations of a resource or template.
func Annotate(a protocol.Annotations) Option {
	a.Audience = slices.Clone(a.Audience)
	if a.Priority != nil {
		a.Priority = new(*a.Priority)
	}
	return componentOption{"Annotate", kindsRead, func(s *settings) string {
		if a.Priority != nil && !(*a.Priority >= 0 && *a.Priority <= 1) {
			return "the priority must be between 0 and 1"
		}
		for _, role := range a.Audience {
			if role != protocol.RoleUser && role != protocol.RoleAssistant {
				return fmt.Sprintf("got the role %q, want user or assistant", role)
			}
		}
		s.annotations = &a
		return ""
	}}
}

// ReadOnly declares that the tool does not change anything.
func ReadOnly() Option {
	return option("ReadOnly", kindTool, func(s *settings) { s.hints.ReadOnly = new(true) })
}

// Destructive declares whether the tool's changes may destroy something. The specification's
// default is true.
func Destructive(yes bool) Option {
	return option("Destructive", kindTool, func(s *settings) { s.hints.Destructive = new(yes) })
}

// Idempotent declares that a repeated call has no further effect.
func Idempotent() Option {
	return option("Idempotent", kindTool, func(s *settings) { s.hints.Idempotent = new(true) })
}

// OpenWorld declares whether the tool reaches beyond this system. The specification's default is
// true.
func OpenWorld(yes bool) Option {
	return option("OpenWorld", kindTool, func(s *settings) { s.hints.OpenWorld = new(yes) })
}

// Scopes sets the scopes that the caller must have. The caller needs all of them. Lists leave the
// component out for callers that lack a scope. Over HTTP, their calls are answered with 403 and the
// required scopes. Elsewhere they are answered as if the component did not exist. Only the most
// specific resource or template for a URI counts: no less specific template serves the URI to
// callers without the scopes.
//
// Pass each scope as one argument. A scope must not have spaces, quotes or backslashes (RFC 6749
// §3.3), because a challenge could not name it.
func Scopes(scopes ...string) Option {
	scopes = slices.Clone(scopes)
	return componentOption{"Scopes", kindsAll, func(s *settings) string {
		for _, scope := range scopes {
			if scope == "" {
				return "a scope is empty"
			}
			if strings.ContainsFunc(scope, notOfScope) {
				return fmt.Sprintf("%q is not a scope: want printable characters without spaces, quotes and backslashes; pass several scopes as several arguments", scope)
			}
			if !slices.Contains(s.scopes, scope) {
				s.scopes = append(s.scopes, scope)
			}
		}
		return ""
	}}
}

func notOfScope(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }

// Timeout limits one execution. Its context ends after d, which must be more than 0. If the client
// is asked live, the time until the user answers counts. The wait in a step such as Concurrency
// counts, too. In rounds, each round has the full time. A result that the handler returns after the
// timeout is still the answer. Completions of a prompt or template have the same limit.
func Timeout(d time.Duration) Option {
	return componentOption{"Timeout", kindsAll, checked(d > 0, "the duration must be positive", func(s *settings) {
		s.timeout = d
	})}
}

// With adds middleware to this component. At least one of the steps must apply to its calls. OnRead
// alone does not fit a tool, and OnList, which is for App.Use, does not fit any component.
func With(mw ...Middleware) Option {
	mw = slices.Clone(mw)
	name, fits := seenBy(mw)
	return componentOption{name, fits, func(s *settings) string {
		for _, m := range mw {
			if problem := m.problem(); problem != "" {
				return problem
			}
		}
		s.ownChain = append(s.ownChain, mw...)
		return ""
	}}
}

// seenBy returns the kinds of components whose calls pass at least one of the steps. option is the
// text that names the steps in a fault.
func seenBy(steps []Middleware) (option string, kinds kind) {
	var names []string
	for _, m := range steps {
		if m.only == 0 {
			return "With", kindsAll
		}
		kinds |= m.only & kindsAll
		names = append(names, strconv.Quote(m.Name))
	}
	if len(steps) == 0 {
		return "With", kindsAll
	}
	return "With(" + strings.Join(names, ", ") + ")", kinds
}

// MIME sets the MIME type of a resource.
func MIME(mime string) Option {
	return option("MIME", kindsRead, func(s *settings) { s.mime = mime })
}

// Size sets the size of a resource in bytes. With 0, the size is not listed.
func Size(n int64) Option {
	return componentOption{"Size", kindResource, checked(n >= 0, "the size is negative", func(s *settings) { s.size = n })}
}

// Arguments declares the arguments of a prompt whose Args is map[string]string. Use it if the
// arguments are known only at run time, as for prompts in files. The map has only the arguments
// that the client sent. Arguments() declares that the prompt has none. Commas, quotes, backslashes
// and control characters in names are a fault.
func Arguments(args ...protocol.PromptArgument) Option {
	args = slices.Clone(args)
	return componentOption{"Arguments", kindPrompt, func(s *settings) string {
		s.arguments = []protocol.PromptArgument{}
		seen := make(map[string]bool)
		for _, a := range args {
			if a.Name == "" || seen[a.Name] {
				return fmt.Sprintf("the name %q is empty, or given twice", a.Name)
			}
			if !binding.LegalName(a.Name) {
				return fmt.Sprintf("the name %q has a comma, a quote, a backslash or a control character", a.Name)
			}
			seen[a.Name] = true
		}
		s.arguments = append(s.arguments, args...)
		return ""
	}}
}

// Complete suggests values for an argument of a prompt or a variable of a template. args are the
// arguments already given, or nil if there are none. At most 100 values are sent, so return the
// best ones first. Without this option, the suggestions are the values that the type allows.
// Values of a variable that the server would not read back from a URI, such as one with a slash,
// are left out (see [ResourceTemplate]).
//
// fn is called as the user types. It may be called concurrently. It is called only for callers who
// have the scopes of the component, and inside the component's middleware except OnRead and
// OnPrompt. Its errors are answered like errors of a handler.
func Complete(argument string, fn func(ctx context.Context, prefix string, args map[string]string) ([]string, error)) Option {
	return componentOption{"Complete", kindPrompt | kindTemplate, checked(fn != nil, "the function for "+argument+" is nil", func(s *settings) {
		if s.completers == nil {
			s.completers = make(map[string]completer)
		}
		s.completers[argument] = fn
	})}
}

// MaySubscribe decides whether a caller may subscribe to a URI of a resource or template. allow is
// called only for callers who have the scopes of the component. Without this option, all of these
// callers may subscribe, even to a URI that the handler would not let them read.
//
// allow gets the URI of a resource as it is registered. A URI of a template begins with the literal
// text that the template begins with; the rest is in normal form (see [protocol.NormalURI]),
// whichever spelling the client sends.
//
// An error of allow refuses the subscription. It is answered like an error of the handler; on
// 2026-07-28 the acknowledgement leaves the URI out. allow gets a context like the handler's, but
// middleware does not run. It is called when a subscription begins, and not again.
//
// Subscribers of a parent of such a resource are notified only of the parent, as with [Scopes].
func MaySubscribe(allow func(ctx context.Context, uri string) error) Option {
	return componentOption{"MaySubscribe", kindsRead, checked(allow != nil, "the function is nil", func(s *settings) {
		s.maySubscribe = allow
	})}
}

// CacheScope is the scope of a cache hint of 2026-07-28.
type CacheScope string

// The two scopes. With CachePrivate, a cache must not share the result between callers.
const (
	CachePublic  CacheScope = "public"
	CachePrivate CacheScope = "private"
)

// Cache sets how long the client may cache results of a resource or template. It is sent in
// milliseconds; the server does not cache anything. If the component has Scopes, the scope is
// always private. Without this option, results carry hints not to cache. Results that depend on
// an answer of the user or a model carry them, too, because the next answer may differ.
func Cache(ttl time.Duration, scope CacheScope) Option {
	return componentOption{"Cache", kindsRead, func(s *settings) string {
		switch {
		case ttl < 0:
			return "the time to live is negative"
		case scope != CachePublic && scope != CachePrivate:
			return "the scope must be CachePublic or CachePrivate"
		}
		s.cache = protocol.CacheHints{TTL: ttl, Private: scope == CachePrivate}
		return ""
	}}
}

// InputSchema replaces the schema that is derived from In. It is required if In is json.RawMessage.
// Arguments are checked against it.
//
// The schema is JSON Schema 2020-12, unless its $schema names 2019-09 or one of the drafts 7, 6 and
// 4. References may point into the schema itself and into the metaschemas. Nothing is fetched.
// Patterns are regular expressions of ECMA-262 with its flag u. They must not look ahead or behind,
// refer back to a group, or repeat more than 1000 times. format is checked up to draft 7.
func InputSchema[S ~string | ~[]byte](schema S) Option {
	raw := append(json.RawMessage{}, schema...) // never nil, so that an empty schema is a fault
	return option("InputSchema", kindTool|kindMethod, func(s *settings) { s.inputSchema = raw })
}

// OutputSchema replaces the schema that is derived from Out. Results are checked against it. It is
// written like an [InputSchema].
func OutputSchema[S ~string | ~[]byte](schema S) Option {
	raw := append(json.RawMessage{}, schema...) // as in InputSchema
	return option("OutputSchema", kindTool|kindMethod, func(s *settings) { s.outputSchema = raw })
}

// Hidden leaves a component out of lists. It can still be called.
func Hidden() Option { return option("Hidden", kindsAll, func(s *settings) { s.hidden = true }) }

// Params names the parameters of a function that is registered with Func. (The parameters of a Tool
// are the fields of its struct.)
func Params(names ...string) Option {
	names = slices.Clone(names)
	return option("Params", kindFunc, func(s *settings) { s.params = names })
}
