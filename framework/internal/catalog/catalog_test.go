package catalog_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework/internal/catalog"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/transport"
)

// handler answers with its own name, so that a test sees which handler it got.
type handler string

func (h handler) Handle(context.Context, *engine.Call) (protocol.Result, error) {
	return nil, errors.New(string(h))
}

func entry(kind catalog.Kind, key string, scopes ...string) *catalog.Entry {
	e := &catalog.Entry{Kind: kind, Key: key, Scopes: scopes, Handler: handler(key), Wire: map[*dialect.Dialect][]byte{}}
	for _, d := range dialect.All() {
		e.Wire[d] = []byte(key)
	}
	return e
}

func registry(t testing.TB, entries ...*catalog.Entry) *catalog.Registry {
	t.Helper()
	r := catalog.New(catalog.Config{PageSize: 2, Secret: []byte("s")})
	r.Update(nil, entries)
	return r
}

func call() *engine.Call { return &engine.Call{Dialect: dialect.Handshake("")} }

func page(ctx context.Context, t testing.TB, r *catalog.Registry, kind protocol.ListKind, cursor *string) *protocol.Page {
	t.Helper()
	p, err := r.Snapshot().List(ctx, call(), &protocol.ListParams{Kind: kind, Cursor: cursor})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func listed(ctx context.Context, t testing.TB, r *catalog.Registry, kind protocol.ListKind) string {
	t.Helper()
	var out []string
	var cursor *string
	for {
		p := page(ctx, t, r, kind, cursor)
		for _, e := range p.Entries {
			out = append(out, strings.Split(string(e), ",")...)
		}
		if cursor = p.Next; cursor == nil {
			return strings.Join(out, " ")
		}
	}
}

func TestUpdateKeepsThePlaceOfWhatIsReplaced(t *testing.T) {
	t.Parallel()
	a, b, c := entry(catalog.Tool, "a"), entry(catalog.Tool, "b"), entry(catalog.Tool, "c")
	r := registry(t, a, b, c)
	change := r.Update([]*catalog.Entry{b, c, entry(catalog.Tool, "x")}, []*catalog.Entry{entry(catalog.Tool, "d"), entry(catalog.Tool, "b", "s")})
	if change.Removed != 2 || !slices.Equal(change.Kinds, []protocol.ListKind{protocol.ListTools}) {
		t.Errorf("Update = %+v", change)
	}
	ctx := transport.WithPrincipal(t.Context(), &transport.Principal{Scopes: []string{"s"}})
	if got := listed(ctx, t, r, protocol.ListTools); got != "a b d" {
		t.Errorf("listed %s", got)
	}
}

func TestChangedKinds(t *testing.T) {
	t.Parallel()
	r := registry(t)
	change := r.Update(nil, []*catalog.Entry{entry(catalog.Template, "t"), entry(catalog.Resource, "r"), entry(catalog.Prompt, "p"), entry(catalog.Method, "m")})
	if want := []protocol.ListKind{protocol.ListResources, protocol.ListPrompts}; !slices.Equal(change.Kinds, want) {
		t.Errorf("kinds = %v, want %v", change.Kinds, want)
	}
}

func TestVisibility(t *testing.T) {
	t.Parallel()
	hidden := entry(catalog.Tool, "hidden")
	hidden.Hidden = true
	r := registry(t, entry(catalog.Tool, "a"), entry(catalog.Tool, "b", "x", "y"), hidden, entry(catalog.Tool, "c"), entry(catalog.Prompt, "p"))
	for name, tt := range map[string]struct {
		scopes []string
		want   string
	}{
		"none": {nil, "a c"}, "one": {[]string{"x"}, "a c"}, "both": {[]string{"y", "x"}, "a b c"},
	} {
		ctx := transport.WithPrincipal(t.Context(), &transport.Principal{Scopes: tt.scopes})
		if got := listed(ctx, t, r, protocol.ListTools); got != tt.want {
			t.Errorf("%s: listed %s, want %s", name, got, tt.want)
		}
		h, err := r.Snapshot().Find(ctx, call(), &protocol.CallToolParams{Name: "b"})
		if found := err == nil && h == handler("b"); found != strings.Contains(tt.want, "b") {
			t.Errorf("%s: found %v, %v", name, h, err)
		}
	}
	if !page(t.Context(), t, r, protocol.ListTools, nil).Cache.Private || page(t.Context(), t, r, protocol.ListPrompts, nil).Cache.Private {
		t.Error("only the list with scopes is private")
	}
}

func TestFilterSeesAndKeepsTheOrder(t *testing.T) {
	t.Parallel()
	failure := errors.New("no")
	r := catalog.New(catalog.Config{PageSize: 10, Filter: func(_ context.Context, _ *engine.Call, kind protocol.ListKind, entries []*catalog.Entry) ([]*catalog.Entry, error) {
		if kind == protocol.ListPrompts {
			return nil, failure
		}
		return slices.DeleteFunc(entries, func(e *catalog.Entry) bool { return e.Key == "b" }), nil
	}})
	r.Update(nil, []*catalog.Entry{entry(catalog.Tool, "a"), entry(catalog.Tool, "b"), entry(catalog.Tool, "c")})
	for range 2 { // the filter must not see its own work
		if got := listed(t.Context(), t, r, protocol.ListTools); got != "a c" {
			t.Errorf("listed %s", got)
		}
	}
	if _, err := r.Snapshot().List(t.Context(), call(), &protocol.ListParams{Kind: protocol.ListPrompts}); !errors.Is(err, failure) {
		t.Errorf("err = %v", err)
	}
}

func TestTemplatesBySpecificity(t *testing.T) {
	t.Parallel()
	unsafe := errors.New("unsafe")
	template := func(key string, specificity int, matches ...string) *catalog.Entry {
		e := entry(catalog.Template, key)
		e.Specificity = specificity
		e.Match = func(uri string) (engine.Handler, error) {
			switch {
			case uri == "bad" && key == "wide":
				return nil, unsafe
			case slices.Contains(matches, uri):
				return handler(key), nil
			}
			return nil, nil
		}
		return e
	}
	r := registry(t, template("wide", 1, "x", "y", "z"), template("narrow", 5, "x"), template("wider", 0, "bad"), entry(catalog.Resource, "z"))
	for uri, want := range map[string]string{"x": "narrow", "y": "wide", "z": "z"} {
		if h, err := r.Snapshot().Find(t.Context(), call(), &protocol.ReadResourceParams{URI: uri}); err != nil || h != handler(want) {
			t.Errorf("%s: %v, %v", uri, h, err)
		}
	}
	for _, uri := range []string{"bad", "unknown"} {
		_, err := r.Snapshot().Find(t.Context(), call(), &protocol.ReadResourceParams{URI: uri})
		var fault *protocol.Fault
		if !errors.As(err, &fault) || fault.Kind != protocol.FaultResourceNotFound || fault.URI != uri {
			t.Errorf("%s: %v", uri, err)
		}
	}
}

func TestCapabilities(t *testing.T) {
	t.Parallel()
	if got, want := registry(t).Snapshot().Capabilities(), (protocol.ServerCapabilities{Logging: true}); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("of nothing: %+v", got)
	}
	got := registry(t, entry(catalog.Tool, "a"), entry(catalog.Template, "t")).Snapshot().Capabilities()
	if !got.Tools || !got.ToolsListChanged || !got.Resources || !got.ResourcesSubscribe || !got.Completions || got.Prompts {
		t.Errorf("got %+v", got)
	}
}

// TestForgedCursors checks that only cursors of the server are accepted.
func TestForgedCursors(t *testing.T) {
	t.Parallel()
	r := registry(t, entry(catalog.Tool, "a"), entry(catalog.Tool, "b"), entry(catalog.Tool, "c"))
	genuine := *page(t.Context(), t, r, protocol.ListTools, nil).Next
	raw, err := base64.RawURLEncoding.DecodeString(genuine)
	if err != nil {
		t.Fatal(err)
	}
	forged := []string{"", "a", genuine + "=", genuine[:len(genuine)-1]}
	for i := range raw {
		flipped := slices.Clone(raw)
		flipped[i] ^= 1
		forged = append(forged, base64.RawURLEncoding.EncodeToString(flipped))
	}
	for _, cursor := range forged {
		_, err := r.Snapshot().List(t.Context(), call(), &protocol.ListParams{Cursor: &cursor})
		var fault *protocol.Fault
		if !errors.As(err, &fault) || fault.Kind != protocol.FaultInvalidParams {
			t.Errorf("%q: %v", cursor, err)
		}
	}
	other := catalog.New(catalog.Config{PageSize: 2, Secret: []byte("other")})
	if _, err := other.Snapshot().List(t.Context(), call(), &protocol.ListParams{Cursor: &genuine}); err == nil {
		t.Error("a cursor of another server is taken")
	}
}

// TestMadeUpCursors checks cursors that a client makes because it knows the secret. They may be
// long, or name an entry that the caller must not see. They reveal nothing and use no memory.
func TestMadeUpCursors(t *testing.T) {
	t.Parallel()
	r := registry(t, entry(catalog.Tool, "a"), entry(catalog.Tool, "b", "admin"), entry(catalog.Tool, "c"), entry(catalog.Tool, "d"))
	made := func(order uint64, key string) *string {
		raw := append(binary.AppendUvarint([]byte{byte(protocol.ListTools)}, order), key...)
		h := hmac.New(sha256.New, []byte("s"))
		h.Write(raw)
		cursor := base64.RawURLEncoding.EncodeToString(append(raw, h.Sum(nil)[:12]...))
		return &cursor
	}
	for name, tt := range map[string]struct {
		cursor *string
		scopes []string
		want   string
	}{
		"of an entry that may be seen":      {made(1<<62, "c"), nil, "d"},
		"of an entry that is not there":     {made(1, "x"), nil, "c,d"},
		"of an entry that must not be seen": {made(1, "b"), nil, "c,d"},
		"the same, far behind":              {made(1<<62, "b"), nil, ""},
		"with the scope":                    {made(1<<62, "b"), []string{"admin"}, "c,d"},
		"at the last place of all":          {made(1<<64-1, ""), nil, ""},
	} {
		ctx := transport.WithPrincipal(t.Context(), &transport.Principal{Scopes: tt.scopes})
		if got := string(bytes.Join(page(ctx, t, r, protocol.ListTools, tt.cursor).Entries, []byte(","))); got != tt.want {
			t.Errorf("%s: got %s, want %s", name, got, tt.want)
		}
	}
	long := made(1, strings.Repeat("x", 1<<20))
	if _, err := r.Snapshot().List(t.Context(), call(), &protocol.ListParams{Cursor: long}); err == nil {
		t.Error("a cursor of 1 MB is accepted")
	}
}

// TestCursorOfALongKey checks that an entry with a long key is found by its place.
func TestCursorOfALongKey(t *testing.T) {
	t.Parallel()
	r := registry(t, entry(catalog.Tool, "a"), entry(catalog.Tool, strings.Repeat("b", 10_000)), entry(catalog.Tool, "c"))
	if got := listed(t.Context(), t, r, protocol.ListTools); !strings.HasSuffix(got, "c") || strings.Count(got, "c") != 1 {
		t.Errorf("got %s", got)
	}
}

// TestPageOfAnySize checks that the largest page has the whole rest of the list.
func TestPageOfAnySize(t *testing.T) {
	t.Parallel()
	entries := []*catalog.Entry{entry(catalog.Tool, "a"), entry(catalog.Tool, "b"), entry(catalog.Tool, "c")}
	next := page(t.Context(), t, registry(t, entries...), protocol.ListTools, nil).Next
	large := catalog.New(catalog.Config{PageSize: math.MaxInt, Secret: []byte("s")})
	large.Update(nil, entries)
	if p := page(t.Context(), t, large, protocol.ListTools, next); len(p.Entries) != 1 || string(p.Entries[0]) != "c" || p.Next != nil {
		t.Errorf("got %s", p.Entries)
	}
}

func FuzzCursor(f *testing.F) {
	r := catalog.New(catalog.Config{PageSize: 1, Secret: []byte("s")})
	r.Update(nil, []*catalog.Entry{entry(catalog.Tool, "a"), entry(catalog.Tool, "b")})
	p, err := r.Snapshot().List(f.Context(), call(), &protocol.ListParams{})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(*p.Next)
	f.Add("")
	f.Fuzz(func(t *testing.T, cursor string) {
		got, err := r.Snapshot().List(t.Context(), call(), &protocol.ListParams{Cursor: &cursor})
		if cursor != *p.Next && err == nil {
			t.Errorf("%q is taken: %v", cursor, got)
		}
	})
}

func TestNearest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, want string
		from       []string
	}{
		{"serch", "search", []string{"list", "search", "fetch"}},
		{"yeaar", "year", []string{"user", "year"}},
		{"Search", "search", []string{"search"}},
		{"xyz", "", []string{"search"}},
		{"", "", []string{"search"}},
		{"a", "", nil},
		{strings.Repeat("a", 65), "", []string{strings.Repeat("a", 64)}},
	} {
		if got := catalog.Nearest(tt.name, tt.from); got != tt.want {
			t.Errorf("Nearest(%q) = %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestPageAllocations checks that a page is kept after the first request.
func TestPageAllocations(t *testing.T) {
	r := catalog.New(catalog.Config{PageSize: 100, Secret: []byte("s")})
	var entries []*catalog.Entry
	for i := range 100 {
		entries = append(entries, entry(catalog.Tool, fmt.Sprint(i)))
	}
	r.Update(nil, entries)
	s, ctx, c, p := r.Snapshot(), t.Context(), call(), &protocol.ListParams{}
	got := testing.AllocsPerRun(100, func() {
		if _, err := s.List(ctx, c, p); err != nil {
			t.Fatal(err)
		}
	})
	if got > 0 {
		t.Errorf("a page of 100 that is there makes %v allocations", got)
	}
}

func TestMirrors(t *testing.T) {
	t.Parallel()
	tool := entry(catalog.Tool, "t", "admin") // the caller's scopes do not matter
	tool.Mirrors = []dialect.Mirror{{Header: "Mcp-Param-Region", Path: []string{"region"}}}
	r := registry(t, tool, entry(catalog.Tool, "plain"), entry(catalog.Prompt, "t"))
	old := r.Snapshot()
	if got := old.Mirrors("t"); len(got) != 1 || got[0].Header != "Mcp-Param-Region" {
		t.Errorf("mirrors: %+v", got)
	}
	for _, name := range []string{"plain", "unknown", ""} {
		if got := old.Mirrors(name); got != nil {
			t.Errorf("mirrors of %q: %+v", name, got)
		}
	}
	r.Update([]*catalog.Entry{tool}, nil)
	if got := r.Snapshot().Mirrors("t"); got != nil {
		t.Errorf("mirrors of a tool that is gone: %+v", got)
	}
	if got := old.Mirrors("t"); got == nil {
		t.Error("a snapshot changed")
	}
}
