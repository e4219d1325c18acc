package framework

import (
	"cmp"
	"context"
	"net/url"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kagami-mcp/kagami/framework/internal/catalog"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
)

// Resource registers a resource with a fixed URI.
//
// Out is string (text), []byte (a blob), Contents, []Contents, an Embedded, json.RawMessage, or any
// other JSON type (application/json).
func Resource[Out any](uri string, fn func(context.Context) (Out, error), opts ...Option) *ResourceOf[Out] {
	r := &ResourceOf[Out]{fn: fn, declaration: declare(kindResource, uri, fn, opts)}
	r.declaration.compile = r.compile
	return r
}

// ResourceOf is the typed handle of a resource.
type ResourceOf[Out any] struct {
	fn          func(context.Context) (Out, error)
	declaration *declaration
}

func (*ResourceOf[Out]) component() {}

func (r *ResourceOf[Out]) declared() *declaration {
	if r == nil {
		return nil
	}
	return r.declaration
}

// URI returns the URI of the resource, or "" for a nil or empty handle.
func (r *ResourceOf[Out]) URI() string { return r.declared().called() }

func (r *ResourceOf[Out]) compile(b *builder, m *member) {
	if problem := uriProblem(m.name); problem != "" {
		m.fault(b, "", problem, `Use an absolute URI, such as "config://app"`)
	}
	m.warnBrowserURI(b, m.name)
	out := b.read(m, reflect.TypeFor[Out]())
	if out == nil {
		return
	}
	m.entry.Kind = catalog.Resource
	m.handler.invoke = func(ctx context.Context, call *Call) (*Result, error) {
		value, err := r.fn(ctx)
		if err != nil {
			return nil, err
		}
		return out.answer(ctx, call.Name, reflect.ValueOf(&value).Elem())
	}
	listed := protocol.Resource{
		URI: m.name, Name: resourceName(m), Title: resourceTitle(m.options.title, resourceName(m)), Description: m.options.description,
		MIME: out.mime, Size: m.options.size, Annotations: m.options.annotations, Icons: m.options.icons, Meta: m.options.meta,
	}
	m.write(b, func(d *dialect.Dialect) ([]byte, error) { return d.AppendResource(nil, &listed) })
}

// uriProblem returns why uri cannot be the URI of a resource (RFC 3986), or "".
func uriProblem(uri string) string {
	u, err := url.Parse(uri)
	switch {
	case uri == "":
		return "the resource has no URI"
	case !utf8.ValidString(uri):
		return "the URI is not UTF-8"
	case strings.ContainsAny(uri, " {}<>\"\\^`"):
		return "the URI has characters that must be percent-encoded"
	case err != nil:
		return "the URI cannot be parsed: " + err.Error()
	case u.Scheme == "":
		return "the URI has no scheme"
	}
	return ""
}

// warnBrowserURI warns if some clients write a URI that begins like uri differently from
// protocol.NormalURI. These clients, such as the Python SDK, build URIs by the URL standard of
// browsers. They then never find the resource.
func (m *member) warnBrowserURI(b *builder, uri string) {
	u, err := url.Parse(uri)
	if err != nil {
		return
	}
	const fix = "Register the URI as a browser writes it"
	web := slices.Contains([]string{"http", "https", "ws", "wss"}, u.Scheme)
	switch {
	case web && strings.ContainsFunc(u.Host, func(r rune) bool { return r >= utf8.RuneSelf }):
		m.warn(b, "many clients write a host outside of ASCII in Punycode, and do not find it", fix)
	case u.Scheme == "file" && strings.EqualFold(u.Host, "localhost"):
		m.warn(b, "many clients leave out the host localhost, and do not find it", fix)
	case slices.ContainsFunc(strings.Split(u.EscapedPath(), "/"), isDots):
		m.warn(b, "many clients resolve the segments . and .. of a path, and do not find it", fix)
	}
}

// isDots reports whether a segment of a path is . or .., escaped or not.
func isDots(segment string) bool {
	plain, err := url.PathUnescape(segment)
	return err == nil && (plain == "." || plain == "..")
}

// resourceName returns the name set with the Name option. Otherwise it returns the last part of the
// URI that is not empty.
func resourceName(m *member) string {
	if m.options.name != "" {
		return m.options.name
	}
	rest := m.name
	if _, after, ok := strings.Cut(rest, ":"); ok {
		rest = strings.TrimLeft(after, "/")
	}
	if m.kind == kindTemplate {
		rest = strings.Trim(regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(rest, ""), "/") // without the expressions
	}
	if base := path.Base(rest); base != "." && base != "/" {
		return base
	}
	scheme, _, _ := strings.Cut(m.name, ":")
	return scheme
}

// reading is the compiled result type of a resource or template.
type reading struct {
	out   *output
	mime  string // as listed; if empty, the type of each result is guessed from its data
	cache protocol.CacheHints
}

var (
	typeContents     = reflect.TypeFor[Contents]()
	typeContentsList = reflect.TypeFor[[]Contents]()
	typeEmbedded     = reflect.TypeFor[Embedded]()
)

// read compiles the result type of a resource or template. It returns nil if the type has faults.
func (b *builder) read(m *member, t reflect.Type) *reading {
	r := &reading{mime: m.options.mime, cache: m.options.cache}
	// A result that needs scopes must not be cached for other callers (2026-07-28
	// server/utilities/caching).
	r.cache.Private = r.cache.Private || len(m.options.scopes) > 0
	m.handler.refuse = m.handler.refusePlain
	switch t {
	case typeContents, typeContentsList, typeEmbedded:
		r.out = &output{shape: shapeContent}
		return r
	}
	if what, _ := protocolType(t); what != "" {
		m.noResource(b, t)
		return nil
	}
	out, faults := compileOutput(t, &b.plans)
	m.adopt(b, faults)
	if out == nil {
		m.failed = true
		return nil
	}
	r.out = out
	switch out.shape {
	case shapeText:
		r.mime = cmp.Or(r.mime, "text/plain")
	case shapeBytes:
	case shapeValue, shapeRaw:
		r.mime = cmp.Or(r.mime, "application/json")
	default:
		m.noResource(b, t)
		return nil
	}
	return r
}

func (m *member) noResource(b *builder, t reflect.Type) {
	m.fault(b, "Out", "a resource cannot be a "+t.String(), "Return a string, []byte, Contents, []Contents or a JSON type")
}

// answer builds the result of resources/read. Contents without a URI get the requested URI, in the
// client's spelling.
func (r *reading) answer(ctx context.Context, uri string, v reflect.Value) (*Result, error) {
	items, err := r.contents(v)
	if err != nil {
		return nil, err
	}
	h := callCtxFrom(ctx)
	if h != nil {
		uri = cmp.Or(h.uri, uri)
	}
	for i := range items {
		items[i].URI = cmp.Or(items[i].URI, uri)
		items[i].MIME = cmp.Or(items[i].MIME, r.mime)
	}
	if items == nil {
		// 2026-07-28 server/resources: MUST NOT return empty contents for a resource that does not
		// exist.
		return nil, NotFoundf("resource not found")
	}
	cache := r.cache
	if h != nil && h.call != nil && h.hasAsked() { // the result depends on the answer of one user
		cache = protocol.CacheHints{Private: true}
	}
	return &Result{Body: &protocol.ReadResourceResult{Contents: items, Cache: cache}}, nil
}

func (r *reading) contents(v reflect.Value) ([]Contents, error) {
	switch r.out.shape {
	case shapeText:
		return []Contents{{Text: v.String()}}, nil
	case shapeBytes:
		data := v.Bytes()
		if data == nil {
			data = []byte{}
		}
		return []Contents{{Data: data}}, nil
	case shapeValue, shapeRaw:
		raw, err := r.out.json(v, nil)
		return []Contents{{Text: string(raw)}}, err
	default:
	}
	switch value := v.Interface().(type) {
	case Contents:
		return []Contents{value}, nil
	case Embedded:
		return []Contents{value.Contents}, nil
	case []Contents:
		return slices.Clone(value), nil // a copy, because answer sets the URIs; nil stays nil
	}
	return nil, nil
}
