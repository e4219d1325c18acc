package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kagami-mcp/kagami/framework/internal/catalog"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/transport"
)

// scopedEntries returns entries that need the subsets of three scopes in turn.
func scopedEntries(n int) []*catalog.Entry {
	var out []*catalog.Entry
	for i := range n {
		e := entry(catalog.Tool, fmt.Sprintf("t%d", i), subset(i%8)...)
		for j, d := range dialect.All() {
			e.Wire[d] = fmt.Appendf(nil, "t%d/%d", i, j)
		}
		out = append(out, e)
	}
	return out
}

// subset returns a subset of three scopes, by bits.
func subset(bits int) []string {
	var out []string
	for i, scope := range []string{"x", "y", "z"} {
		if bits>>i&1 == 1 {
			out = append(out, scope)
		}
	}
	return out
}

// seen returns exactly the entries that a caller must see.
func seen(bits, n, dialect int) string {
	var out []string
	for i := range n {
		if i%8&^bits == 0 {
			out = append(out, fmt.Sprintf("t%d/%d", i, dialect))
		}
	}
	return strings.Join(out, " ")
}

// TestPagesAreTheCallers checks that each caller sees what its scopes allow, in its dialect, also with the
// cursors of other callers, although pages are kept.
func TestPagesAreTheCallers(t *testing.T) {
	t.Parallel()
	const n = 50
	r := catalog.New(catalog.Config{PageSize: 3, Secret: []byte("s")})
	r.Update(nil, scopedEntries(n))
	s := r.Snapshot()
	var work sync.WaitGroup
	for range 3 {
		for bits := range 8 {
			work.Go(func() {
				ctx := transport.WithPrincipal(t.Context(), &transport.Principal{Scopes: subset(bits)})
				for j, d := range dialect.All() {
					if got := walk(ctx, t, s, d, nil); got != seen(bits, n, j) {
						t.Errorf("scopes %v see %s", subset(bits), got)
					}
				}
			})
		}
	}
	work.Wait()
	all := transport.WithPrincipal(t.Context(), &transport.Principal{Scopes: subset(7)})
	first, err := s.List(all, call(), &protocol.ListParams{})
	if err != nil {
		t.Fatal(err)
	}
	d := dialect.Handshake("")
	for _, ctx := range []context.Context{t.Context(), transport.WithPrincipal(t.Context(), &transport.Principal{Subject: "nobody"})} {
		place := slices.Index(dialect.All(), d)
		got := walk(ctx, t, s, d, first.Next)
		if want := strings.TrimPrefix(seen(0, n, place), fmt.Sprintf("t0/%d ", place)); got != want {
			t.Errorf("behind another's cursor: %s, want %s", got, want)
		}
	}
}

// walk lists all pages from a cursor on.
func walk(ctx context.Context, t *testing.T, s engine.Snapshot, d *dialect.Dialect, cursor *string) string {
	t.Helper()
	var out []string
	for {
		p, err := s.List(ctx, &engine.Call{Dialect: d}, &protocol.ListParams{Cursor: cursor})
		if err != nil {
			t.Error(err)
			return ""
		}
		for _, e := range p.Entries {
			out = append(out, strings.Split(string(e), ",")...)
		}
		if cursor = p.Next; cursor == nil {
			return strings.Join(out, " ")
		}
	}
}

// TestKeptPagesAreOfTheirSnapshot checks that a change is visible at once.
func TestKeptPagesAreOfTheirSnapshot(t *testing.T) {
	t.Parallel()
	a, b := entry(catalog.Tool, "a"), entry(catalog.Tool, "b")
	r := registry(t, a)
	old := r.Snapshot()
	for range 2 {
		if got := listed(t.Context(), t, r, protocol.ListTools); got != "a" {
			t.Errorf("listed %s", got)
		}
	}
	r.Update([]*catalog.Entry{a}, []*catalog.Entry{b})
	if got := listed(t.Context(), t, r, protocol.ListTools); got != "b" {
		t.Errorf("listed %s after the change", got)
	}
	if got := walk(t.Context(), t, old, dialect.Handshake(""), nil); got != "a" {
		t.Errorf("the old snapshot lists %s", got)
	}
}

// TestEmptyCursor checks that an empty cursor is not the first page, kept or not.
func TestEmptyCursor(t *testing.T) {
	t.Parallel()
	r := registry(t, entry(catalog.Tool, "a"))
	page(t.Context(), t, r, protocol.ListTools, nil)
	empty := ""
	if _, err := r.Snapshot().List(t.Context(), call(), &protocol.ListParams{Cursor: &empty}); err == nil {
		t.Error("an empty cursor is taken")
	}
}

// TestFilteredPagesAreNotKept checks that the filter is called for each request.
func TestFilteredPagesAreNotKept(t *testing.T) {
	t.Parallel()
	asked := 0
	r := catalog.New(catalog.Config{PageSize: 10, Filter: func(_ context.Context, _ *engine.Call, _ protocol.ListKind, entries []*catalog.Entry) ([]*catalog.Entry, error) {
		asked++
		return entries[:asked], nil
	}})
	r.Update(nil, []*catalog.Entry{entry(catalog.Tool, "a"), entry(catalog.Tool, "b")})
	for _, want := range []string{"a", "a b"} {
		if got := listed(t.Context(), t, r, protocol.ListTools); got != want {
			t.Errorf("listed %s, want %s", got, want)
		}
	}
}

// TestManyScopes checks that lists are right if there are more sets of scopes than a page key distinguishes.
func TestManyScopes(t *testing.T) {
	t.Parallel()
	r := catalog.New(catalog.Config{PageSize: 10, Secret: []byte("s")})
	var entries []*catalog.Entry
	for i := range 100 {
		entries = append(entries, entry(catalog.Tool, fmt.Sprint(i), fmt.Sprint("s", i)))
	}
	r.Update(nil, entries)
	for i := range 100 {
		ctx := transport.WithPrincipal(t.Context(), &transport.Principal{Scopes: []string{fmt.Sprint("s", i)}})
		if got := listed(ctx, t, r, protocol.ListTools); got != fmt.Sprint(i) {
			t.Errorf("scope %d sees %s", i, got)
		}
	}
}

// manyTemplates begin and end in all the ways that matter to the index. Only Specificity decides which
// template serves.
func manyTemplates(n int) []*catalog.Entry {
	var out []*catalog.Entry
	for i := range n {
		prefix := strings.Repeat("a", i%7) + strings.Repeat("b", i%3) + fmt.Sprintf("%d://", i%11)
		if i%13 == 0 {
			prefix = prefix[:i%3]
		}
		e := entry(catalog.Template, fmt.Sprint(i))
		e.Prefix, e.Specificity = prefix, i*7%10
		e.Match = func(uri string) (engine.Handler, error) {
			if strings.HasPrefix(uri, prefix) && len(uri)%5 == i%5 {
				return handler(fmt.Sprint(i)), nil
			}
			return nil, nil
		}
		out = append(out, e)
	}
	return out
}

// TestTemplatesByPrefix checks that the index finds the same template as a search through all templates.
func TestTemplatesByPrefix(t *testing.T) {
	t.Parallel()
	entries := manyTemplates(200)
	r := catalog.New(catalog.Config{PageSize: 10})
	r.Update(nil, entries)
	sorted := slices.Clone(entries)
	slices.SortStableFunc(sorted, func(a, b *catalog.Entry) int { return b.Specificity - a.Specificity })
	uris := []string{"", "a", "zzz", "\xff"}
	for _, e := range entries {
		for _, rest := range []string{"", "x", "xy", "xyz", "wxyz"} {
			uris = append(uris, e.Prefix+rest)
		}
	}
	found := 0
	for _, uri := range uris {
		var want engine.Handler
		for _, e := range sorted {
			if want, _ = e.Match(uri); want != nil {
				break
			}
		}
		got, err := r.Snapshot().Find(t.Context(), call(), &protocol.ReadResourceParams{URI: uri})
		if got != want || (err == nil) != (want != nil) {
			t.Errorf("%q: found %v (%v), want %v", uri, got, err, want)
		}
		if got != nil {
			found++
		}
	}
	if found < 100 {
		t.Errorf("only %d of %d found: this proves little", found, len(uris))
	}
}

// BenchmarkFind finds one entry among many. The cost must not grow with their number.
func BenchmarkFind(b *testing.B) {
	for _, n := range []int{10, 100, 1_000, 10_000} {
		var entries []*catalog.Entry
		for i := range n {
			entries = append(entries, entry(catalog.Tool, fmt.Sprint("tool", i)), entry(catalog.Resource, fmt.Sprint("a://", i)))
			e := entry(catalog.Template, fmt.Sprintf("t%d://{x}", i))
			e.Prefix = fmt.Sprintf("t%d://", i)
			e.Match = func(string) (engine.Handler, error) { return handler(e.Key), nil }
			entries = append(entries, e)
		}
		r := catalog.New(catalog.Config{PageSize: 100})
		r.Update(nil, entries)
		s, c := r.Snapshot(), call()
		for name, p := range map[string]protocol.Params{
			"tool":     &protocol.CallToolParams{Name: fmt.Sprint("tool", n/2)},
			"resource": &protocol.ReadResourceParams{URI: fmt.Sprint("a://", n/2)},
			"template": &protocol.ReadResourceParams{URI: fmt.Sprintf("t%d://x", n/2)},
		} {
			b.Run(fmt.Sprint(name, "/", n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := s.Find(b.Context(), c, p); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkPage lists a page for callers with and without scopes.
func BenchmarkPage(b *testing.B) {
	r := catalog.New(catalog.Config{PageSize: 100, Secret: []byte("s")})
	r.Update(nil, scopedEntries(200))
	s, c := r.Snapshot(), call()
	for name, ctx := range map[string]context.Context{
		"open": b.Context(), "scoped": transport.WithPrincipal(b.Context(), &transport.Principal{Scopes: subset(7)}),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.List(ctx, c, &protocol.ListParams{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestUnsafeIsNotServedByAnother checks that an error of a template that fits ends the search.
func TestUnsafeIsNotServedByAnother(t *testing.T) {
	t.Parallel()
	unsafe, lax := entry(catalog.Template, "unsafe"), entry(catalog.Template, "lax")
	unsafe.Prefix, unsafe.Specificity = "a://", 5
	unsafe.Match = func(string) (engine.Handler, error) { return nil, errors.New("unsafe") }
	lax.Match = func(string) (engine.Handler, error) { return handler("lax"), nil }
	r := registry(t, lax, unsafe)
	if h, err := r.Snapshot().Find(t.Context(), call(), &protocol.ReadResourceParams{URI: "a://b"}); err == nil {
		t.Errorf("served by %v", h)
	}
	if h, err := r.Snapshot().Find(t.Context(), call(), &protocol.ReadResourceParams{URI: "b://b"}); err != nil || h != handler("lax") {
		t.Errorf("%v, %v", h, err)
	}
}
