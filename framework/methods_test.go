package framework_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

// store fits, with all that a type may have besides tools.
type store struct {
	sync.RWMutex
	*clock
	rows []string
}

type clock struct{ now string }

func (c *clock) HTTPTime() string { return c.now }

func (s *store) SearchRows(_ context.Context, in searchIn) (searchOut, error) {
	return searchOut{Rows: s.rows, Limit: in.Limit}, nil
}
func (s *store) Count() int                                   { return len(s.rows) }
func (s *store) Fail(context.Context) error                   { return framework.UserErrorf("sorry") }
func (s *store) Set(in *searchIn)                             { s.rows = []string{in.Query} }
func (s *store) hidden(int, int)                              {}
func (s *store) String() string                               { return "store" }
func (s *store) GoString() string                             { return "store" }
func (s *store) Format(fmt.State, rune)                       {}
func (s *store) Error() string                                { return "store" }
func (s *store) Close() error                                 { return nil }
func (s *store) Validate(context.Context) error               { return nil }
func (s *store) MarshalJSON() ([]byte, error)                 { return []byte("{}"), nil }
func (s *store) UnmarshalJSON([]byte) error                   { return nil }
func (s *store) MarshalText() ([]byte, error)                 { return nil, nil }
func (s *store) AppendText([]byte) ([]byte, error)            { return nil, nil }
func (s *store) Components() []framework.Component            { s.hidden(0, 0); return nil }
func (s *store) ServeHTTP(http.ResponseWriter, *http.Request) {}

var _ json.Marshaler = (*store)(nil)

func TestMethods(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		s := build(t, quiet().Add(framework.Group("db",
			framework.Methods(&store{clock: &clock{"noon"}}, framework.Exclude("ServeHTTP"), framework.ReadOnly()))))
		p := dial(t, s, rev)
		list := p.call("tools/list", "")
		if got, want := list.names("tools", "name"), []string{"db_count", "db_fail", "db_http_time", "db_search_rows", "db_set"}; !slices.Equal(got, want) {
			t.Fatalf("listed %q, want %q", got, want)
		}
		if n := strings.Count(string(list.Result), `"readOnlyHint":true`); n != 5 {
			t.Errorf("%d tools have the option: %s", n, list.Result)
		}
		p.tool("db_set", `{"query":"go"}`).ok()
		for name, want := range map[string]string{"db_count": "1", "db_http_time": "noon", "db_set": ""} {
			arguments := `{}`
			if name == "db_set" {
				arguments = `{"query":"go"}`
			}
			if got := p.tool(name, arguments).text(); got != want {
				t.Errorf("%s = %q, want %q", name, got, want)
			}
		}
		if got, want := p.tool("db_search_rows", `{"query":"rows"}`).text(), `{"rows":["go"],"limit":10}`; got != want {
			t.Errorf("db_search_rows = %s, want %s", got, want)
		}
		p.tool("db_search_rows", `{"query":1}`).isError().mentions("db_search_rows", "/query")
		p.tool("db_fail", `{}`).isError().mentions("sorry")
	})
}

// A value has the methods of values; what only a pointer has is a fault.
type half struct{}

func (half) Value() int      { return 1 }
func (*half) Pointer() int   { return 2 }
func (*half) String() string { return "" }

func TestMethodsOfValues(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		component framework.Component
		want      []string
	}{
		"pointer":  {framework.Methods(new(half)), []string{"pointer", "value"}},
		"value":    {framework.Methods(half{}, framework.Exclude("Pointer")), []string{"value"}},
		"function": {framework.Methods(greeting(func() string { return "" })), []string{"greet"}},
		"several":  {framework.Methods(new(half), framework.Exclude("Value"), framework.Exclude("String")), []string{"pointer"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := build(t, quiet().Add(tt.component))
			if got := dial(t, s, protocol.Rev20251125).call("tools/list", "").names("tools", "name"); !slices.Equal(got, tt.want) {
				t.Errorf("listed %q, want %q", got, tt.want)
			}
		})
	}
}

type greeting func() string

func (g greeting) Greet() string { return g() }

type names struct{}

func (names) A() int             { return 0 }
func (names) SearchOrders() int  { return 0 }
func (names) HTTPGet() int       { return 0 }
func (names) GetURL() int        { return 0 }
func (names) ListIDs() int       { return 0 }
func (names) MergePDFsNow() int  { return 0 }
func (names) ASCIItable() int    { return 0 }
func (names) V2Search() int      { return 0 }
func (names) Base64Encode() int  { return 0 }
func (names) Already_There() int { return 0 } //nolint:revive // a name as it comes
func (names) AsIs() int          { return 0 }

func TestMethodNames(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(framework.Methods(names{})))
	got := dial(t, s, protocol.Rev20260728).call("tools/list", "").names("tools", "name")
	want := []string{"a", "asci_itable", "already_there", "as_is", "base64_encode", "get_url", "http_get", "list_ids", "merge_pdfs_now", "search_orders", "v2_search"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestMethodPlaces checks that a fault names the place of the declaration, however the receiver got
// the method.
func TestMethodPlaces(t *testing.T) {
	t.Parallel()
	report := faultsOf(t, quiet().Add(framework.Methods(&outer{inner: inner{&deep{}}, doer: new(deep)})))
	want := map[string]string{
		`tool "deep"`: "(*deep).Deep", `tool "do"`: "(*outer).Do", `tool "inner"`: "inner.Inner", `tool "outer"`: "outer.Outer",
	}
	for _, f := range report.Faults {
		if f.Warning {
			continue
		}
		if f.Function != want[f.Component] || !strings.HasPrefix(f.Where, "methods_test.go:") {
			t.Errorf("%s: got %q at %q", f.Component, f.Function, f.Where)
		}
		delete(want, f.Component)
	}
	if len(want) > 0 {
		t.Errorf("not reported: %v", want)
	}
}

type doer interface{ Do(int) int }

type deep struct{}

func (*deep) Deep(int) int { return 0 }
func (*deep) Do(int) int   { return 0 }

type inner struct{ *deep }

func (inner) Inner(int) int { return 0 }

type outer struct {
	inner
	doer
}

func (outer) Outer(int) int { return 0 }

type loop struct{ *loop }

func (*loop) Turn() int { return 1 }

type box[T any] struct{ value T }

func (b *box[T]) Get() T  { return b.value }
func (b *box[T]) Put(_ T) {}

type twins struct { // Do is ambiguous, and therefore no method
	deep
	Other
}

type Other struct{}

func (Other) Do(int) int { return 0 }

// Whatever Methods is given, Build answers with a server or a report.
func TestMethodsOfAnything(t *testing.T) {
	t.Parallel()
	for name, receiver := range map[string]any{
		"int": 3, "text": "x", "channel": make(chan int), "function": func() {}, "nil function": greeting(nil), "map": map[string]int{},
		"nil map": http.Header(nil), "time": time.Now(), "time pointer": new(time.Time), "buffer": new(bytes.Buffer), "client": http.DefaultClient,
		"type": reflect.TypeFor[int](), "value": reflect.ValueOf(3), "pointer to pointer": new(new(store)), "recursive": &loop{},
		"generic": &box[string]{}, "generic of struct": &box[searchIn]{}, "nil embedded": &store{}, "nil embedded interface": outer{},
		"anonymous": struct{ *clock }{}, "ambiguous": &twins{}, "app": quiet(), "set": framework.Group("g"), "error": errors.ErrUnsupported,
		"context": context.Background(), "array": [2]names{}, "test": t,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := quiet().Add(framework.Methods(receiver)).Build()
			var report *framework.BuildError
			switch {
			case err == nil:
				if err := s.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
			case !errors.As(err, &report):
				t.Errorf("Build = %v", err)
			default:
				for _, f := range report.Faults {
					if f.Where == "" || f.Problem == "" || f.Fix == "" {
						t.Errorf("a fault without place, problem or fix: %+v", f)
					}
				}
			}
		})
	}
}

// A method that panics, as one of a nil embedded pointer does, costs its call.
func TestMethodOfNilPanics(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(framework.Methods(struct{ *clock }{})))
	p := dial(t, s, protocol.Rev20251125)
	p.tool("http_time", `{}`).isError().mentions("The tool failed")
	p.tool("http_time", `{}`).isError()
}

func TestMethodsAtRunTime(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(framework.Tool("one", none)))
	methods := framework.Methods(&onlyOne{})
	if err := s.Add(methods); err == nil {
		t.Error("a name that is taken was added")
	}
	if err := s.Add(framework.Group("more", methods)); err != nil {
		t.Fatal(err)
	}
	dial(t, s, protocol.Rev20251125).tool("more_one", `{}`).ok()
}
