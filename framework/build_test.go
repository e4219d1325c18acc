package framework_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/transport"
)

type orderURI struct {
	User  string `uri:"user"`
	Yeaar int    `uri:"yeaar"`
}

func orders(context.Context, orderURI) (string, error) { return "", nil }

func text(context.Context) (string, error) { return "", nil }

func prompt(context.Context, struct{}) (framework.Messages, error) { return nil, nil }

func faultsOf(t *testing.T, app *framework.App) *framework.BuildError {
	t.Helper()
	s, err := app.Build()
	var report *framework.BuildError
	if !errors.As(err, &report) {
		t.Fatalf("Build = %v, %v; want a *BuildError", s, err)
	}
	return report
}

// faulty is a registration, and what its report must mention. The whole reports
// are in testdata/reports.golden.
type faulty struct {
	component framework.Component
	want      []string
}

func registrationFaults() map[string]faulty {
	twice := framework.Tool("twice", none)
	var nilTool *framework.ToolOf[struct{}, string]
	var nilSet *framework.Set
	return map[string]faulty{
		"nil component":         {nil, []string{"the component is nil"}},
		"nil handle":            {nilTool, []string{"the component is nil"}},
		"nil set":               {nilSet, []string{"the component is nil"}},
		"embedded component":    {struct{ framework.Component }{framework.Tool("t", none)}, []string{"build_test.go:", "is not a component of this package", "Add the component that it embeds"}},
		"embedded set":          {struct{ *framework.Set }{framework.Group("g", framework.Tool("t", none))}, []string{"is not a component of this package"}},
		"nil function":          {framework.Tool[struct{}, string]("t", nil), []string{`tool "t"`, "build_test.go:", "the function is nil"}},
		"no name":               {framework.Tool("", none), []string{"has no name"}},
		"bad name":              {framework.Tool("a b", none), []string{`tool "a b"`, "characters"}},
		"long name":             {framework.Tool(strings.Repeat("a", 129), none), []string{"128"}},
		"long grouped name":     {framework.Group("g", framework.Tool(strings.Repeat("a", 127), none)), []string{"128"}},
		"channel":               {framework.Tool("t", func(context.Context, struct{ Ch chan int }) (string, error) { return "", nil }), []string{"Ch", "chan int"}},
		"func result":           {framework.Tool("t", func(context.Context, struct{}) (func(), error) { return nil, nil }), []string{"func()"}},
		"input no object":       {framework.Tool("t", func(context.Context, int) (string, error) { return "", nil }), []string{`tool "t"`}},
		"raw without schema":    {framework.Tool("t", func(context.Context, []byte) (string, error) { return "", nil }), []string{`tool "t"`}},
		"prompt of a map":       {promptOf[map[string]string](), []string{`prompt "p"`, "does not name the arguments", "Arguments"}},
		"arguments of a struct": {promptOf[struct{ A string }](framework.Arguments()), []string{"got Arguments, but struct"}},
		"arguments twice":       {promptOf[map[string]string](framework.Arguments(protocol.PromptArgument{Name: "a"}, protocol.PromptArgument{Name: "a"})), []string{`Arguments: the name "a"`}},
		"argument's name":       {promptOf[map[string]string](framework.Arguments(protocol.PromptArgument{Name: "a,b"})), []string{`Arguments: the name "a,b"`, "comma"}},
		"bad schema":            {framework.Tool("t", none, framework.InputSchema(`{"type":"objekt"}`)), []string{"InputSchema"}},
		"schema no object":      {framework.Tool("t", none, framework.InputSchema(`{"type":"string"}`)), []string{"object"}},
		"empty input schema":    {framework.Tool("t", none, framework.InputSchema([]byte(nil))), []string{"InputSchema"}},
		"empty output schema":   {framework.Tool("t", func(context.Context, struct{}) (json.RawMessage, error) { return nil, nil }, framework.OutputSchema([]byte(nil))), []string{"OutputSchema"}},
		"output schema of text": {framework.Tool("t", none, framework.OutputSchema(`{}`)), []string{"not structured"}},
		"output schema of no type": {framework.Tool("t", func(context.Context, struct{}) (framework.Rich[chan int], error) {
			return framework.Rich[chan int]{}, nil
		}, framework.OutputSchema(`{"type":"object"}`)), []string{"chan int"}},
		"pointer to a block":   {framework.Tool("t", func(context.Context, struct{}) (*framework.Image, error) { return nil, nil }), []string{"pointer", "protocol.Image"}},
		"misfit option":        {framework.Tool("t", none, framework.MIME("a/b")), []string{"MIME", "does not fit a tool"}},
		"nil option":           {framework.Tool("t", none, nil), []string{"an option is nil"}},
		"negative timeout":     {framework.Tool("t", none, framework.Timeout(-1)), []string{"Timeout", "positive"}},
		"contradicting hints":  {framework.Tool("t", none, framework.ReadOnly(), framework.Destructive(true)), []string{"ReadOnly", "Destructive"}},
		"meta without JSON":    {framework.Tool("t", none, framework.Meta("k", make(chan int))), []string{"Meta", "no JSON form"}},
		"panicking meta":       {framework.Tool("t", none, framework.Meta("k", explosive{})), []string{`tool "t"`, "Meta: the value of k has no JSON form: panic: boom"}},
		"empty scope":          {framework.Tool("t", none, framework.Scopes("")), []string{"scope is empty"}},
		"scopes in one":        {framework.Tool("t", none, framework.Scopes("a:read a:write")), []string{`"a:read a:write" is not a scope`, "several arguments"}},
		"scope with a quote":   {framework.Tool("t", none, framework.Scopes(`a"`)), []string{`"a\"" is not a scope`}},
		"nil middleware":       {framework.Tool("t", none, framework.With(framework.Middleware{Name: "m"})), []string{`"m"`, "nil"}},
		"middleware of nil":    {framework.Tool("t", none, framework.With(framework.Middleware{Name: "m", Phase: framework.PhaseTrace, Wrap: noStep}), framework.Scopes("s")), []string{`tool "t"`, `the Wrap of the middleware "m" returned nil`}},
		"panicking middleware": {framework.Group("g", framework.Tool("t", none)).With(framework.With(framework.Middleware{Name: "m", Wrap: panics})), []string{`tool "g_t"`, `the Wrap of the middleware "m" panicked: boom`}},
		"phase":                {framework.Tool("t", none, framework.With(framework.Middleware{Name: "m", Phase: 99, Wrap: func(n framework.Handler) framework.Handler { return n }})), []string{"phase"}},
		"icon":                 {framework.Tool("t", none, framework.Icons(protocol.Icon{})), []string{"Icons", "Src"}},
		"icon's scheme":        {framework.Tool("t", none, framework.Icons(protocol.Icon{Src: "file:///a.png"})), []string{"Icons", "file:///a.png", "https"}},
		"icon's path":          {framework.Tool("t", none, framework.Icons(protocol.Icon{Src: "a.png"})), []string{"Icons", "a.png", "https"}},
		"icon's size":          {framework.Tool("t", none, framework.Icons(protocol.Icon{Src: "data:image/png;base64,AA", Sizes: []string{"any", "48"}})), []string{"Icons", "48x48"}},
		"icon's theme":         {framework.Tool("t", none, framework.Icons(protocol.Icon{Src: "https://a", Theme: "dusk"})), []string{"Icons", `the theme "dusk"`}},
		"audience":             {framework.Resource("a://b", text, framework.Annotate(protocol.Annotations{Audience: []protocol.Role{"system"}})), []string{"Annotate", `the role "system"`}},
		"handle twice":         {framework.Group("", twice, twice), []string{"same handle is registered twice"}},
		"name twice":           {framework.Group("", framework.Tool("a", none), framework.Tool("a", search)), []string{`tool "a"`, "registered twice: build_test.go:", "Group"}},
		"unused group option":  {framework.Group("g", framework.Tool("a", none)).With(framework.MIME("a/b")), []string{`group "g"`, "MIME", "fits no member"}},
		"middleware of others": {framework.Tool("t", none, framework.With(framework.OnRead("audit", passRead))), []string{`With("audit") does not fit a tool`}},
		"middleware of lists":  {framework.Group("g", framework.Tool("t", none)).With(framework.With(framework.OnList("hide", passList))), []string{`group "g"`, `With("hide") fits no member`}},
		"prompt's name":        {framework.Prompt("\xff", prompt), []string{"not UTF-8"}},
		"method's name":        {framework.Method("a/\xff", search), []string{"not UTF-8"}},
		"URI in other letters": {framework.Resource("a://\xff", text), []string{"not UTF-8"}},
		"no template":          {framework.ResourceTemplate("", func(context.Context, struct{}) (string, error) { return "", nil }), []string{"the template has no URI"}},
		"relative template":    {framework.ResourceTemplate("notes/{x}", func(context.Context, struct{ X string }) (string, error) { return "", nil }), []string{"the URIs of the template have no scheme"}},
		"ignored parameter":    {framework.Func("f", func(int) {}, framework.Params("-")), []string{"-: a parameter cannot have this name"}},
		"no URI":               {framework.Resource("", text), []string{"no URI"}},
		"relative URI":         {framework.Resource("a/b", text), []string{"scheme"}},
		"URI with braces":      {framework.Resource("a://{b}", text), []string{"percent-encoded"}},
		"resource result":      {framework.Resource("a://b", func(context.Context) (framework.Image, error) { return framework.Image{}, nil }), []string{"a resource cannot be a protocol.Image"}},
		"cache scope":          {framework.Resource("a://b", text, framework.Cache(time.Second, "shared")), []string{"Cache", "CachePublic"}},
		"annotation":           {framework.Resource("a://b", text, framework.Annotate(protocol.Annotations{Priority: new(2.0)})), []string{"priority"}},
		"template":             {framework.ResourceTemplate("a://{b", orders), []string{`template "a://{b"`}},
		"variables":            {framework.ResourceTemplate("orders://{user}/{year}", orders), []string{"orderURI.Yeaar", `uri "yeaar" is not in orders://{user}/{year}`, `Did you mean "year"?`, `no field takes the variable "year"`}},
		"nested prompt":        {framework.Prompt("p", func(context.Context, struct{ In struct{ X int } }) (framework.Messages, error) { return nil, nil }), []string{`prompt "p"`}},
		"completion":           {framework.Prompt("p", prompt, framework.Complete("x", func(context.Context, string, map[string]string) ([]string, error) { return nil, nil })), []string{`no argument "x"`}},
		"nil watcher":          {framework.Resource("a://b", text, framework.MaySubscribe(nil)), []string{"MaySubscribe: the function is nil"}},
		"watched tool":         {framework.Tool("t", none, framework.MaySubscribe(ownOnly)), []string{"MaySubscribe does not fit a tool"}},
		"nil completion":       {framework.Prompt("p", prompt, framework.Complete("x", nil)), []string{"Complete"}},
		"spec's method":        {framework.Method("tools/call", search), []string{"the specification has a method of this name"}},
		"notification":         {framework.Method("notifications/x", search), []string{"notification"}},
		"method result":        {framework.Method("a/b", none), []string{"must be a JSON object"}},
		"not a function":       {framework.Func("f", 3), []string{`tool "f"`, "not a function"}},
		"nil func":             {framework.Func("f", nil), []string{"the function is nil"}},
		"typed nil func":       {framework.Func("f", (func())(nil)), []string{"the function is nil"}},
		"variadic":             {framework.Func("f", func(...string) {}), []string{"variadic"}},
		"nameless":             {framework.Func("f", func(int, int) int { return 0 }), []string{"Params"}},
		"no name for a time":   {framework.Func("f", func(time.Time) {}), []string{"the parameter of the function has no name. Add Params"}},
		"no name for one":      {framework.Func("f", func(int) {}), []string{"the parameter of the function has no name"}},
		"too few names":        {framework.Func("f", func(int, int) int { return 0 }, framework.Params("a")), []string{"names 1 parameter, the function has 2"}},
		"names twice":          {framework.Func("f", func(int, int) int { return 0 }, framework.Params("a", "a")), []string{"two parameters"}},
		"three results":        {framework.Func("f", func() (int, int, error) { return 0, 0, nil }), []string{"2 results"}},
		"two errors":           {framework.Func("f", func() (error, error) { return nil, nil }), []string{"two errors"}},
		"late context":         {framework.Func("f", func(int, context.Context) {}, framework.Params("a", "b")), []string{"context is not the first"}},
		"default breaks rule": {framework.Tool("t", func(context.Context, struct {
			N int `json:"n" default:"abc"`
		},
		) (string, error) {
			return "", nil
		}), []string{"abc"}},
		"pointer to a struct":   {framework.Func("f", func(*int) {}), []string{"Params"}},
		"empty parameter name":  {framework.Func("f", func(int) {}, framework.Params("")), []string{"cannot have this name"}},
		"odd parameter name":    {framework.Func("f", func(int) {}, framework.Params("a b")), []string{"a b", "cannot have this name"}},
		"channel parameter":     {framework.Func("f", func(chan int) {}, framework.Params("c")), []string{"c: type chan int"}},
		"nested parameter":      {framework.Func("f", func(int, struct{ C chan int }) {}, framework.Params("n", "c")), []string{"c.C: type chan int"}},
		"parameters of a tool":  {framework.Tool("t", none, framework.Params("a")), []string{"the option Params does not fit a tool"}},
		"parameters of a group": {framework.Group("g", framework.Tool("a", none)).With(framework.Params("a")), []string{`group "g"`, "Params fits no member"}},
		"parameters of nothing": {framework.Func("f", func() {}, framework.Params("a")), []string{"names 1 parameter, the function has 0"}},
		"exclude of a tool":     {framework.Tool("t", none, framework.Exclude("A")), []string{"the option Exclude does not fit a tool"}},
		"exclude of a group":    {framework.Group("g", framework.Methods(&onlyOne{})).With(framework.Exclude("A")), []string{`group "g"`, "Exclude fits no member"}},

		"header of a number":  {framework.Tool("t", none, framework.InputSchema(`{"type":"object","properties":{"n":{"type":"number","x-mcp-header":"N"}}}`)), []string{`tool "t"`, "InputSchema: n", `"N"`, `type "number"`}},
		"header with a space": {framework.Tool("t", none, framework.InputSchema(`{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string","x-mcp-header":"a b"}}}}}`)), []string{"InputSchema: a.b", "is not a header name"}},
		"header twice":        {framework.Tool("t", none, framework.InputSchema(`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"Tenant"},"b":{"type":"string","x-mcp-header":"tenant"}}}`)), []string{"InputSchema: b", "declared twice"}},
		"header of the root":  {framework.Tool("t", none, framework.InputSchema(`{"type":"object","x-mcp-header":"A"}`)), []string{`InputSchema: x-mcp-header "A" is not on a property`}},
		"header in a list":    {framework.Tool("t", none, framework.InputSchema(`{"type":"object","properties":{"l":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}`)), []string{"InputSchema: l: x-mcp-header", "properties alone"}},

		"methods of nil":            {framework.Methods(nil), []string{"methods", "build_test.go:", "the receiver is nil"}},
		"methods of a typed nil":    {framework.Methods((*store)(nil)), []string{`methods "*framework_test.store"`, "the receiver is nil"}},
		"methods of an interface":   {framework.Methods(new(doer)), []string{"pointer to an interface"}},
		"methods of a component":    {framework.Methods(framework.Tool("t", none)), []string{"component itself"}},
		"no methods":                {framework.Methods(struct{}{}), []string{"no exported method"}},
		"no methods left":           {framework.Methods(&onlyOne{}, framework.Exclude("One")), []string{"is excluded"}},
		"only standard methods":     {framework.Methods(time.Weekday(1)), []string{`methods "time.Weekday"`, "no exported method"}},
		"excluded twice over":       {framework.Methods(&onlyOne{}, framework.Exclude("Onee", "Two")), []string{`no exported method "Onee"`, `Did you mean "One"?`, `no exported method "Two"`}},
		"excluded as a tool":        {framework.Methods(&store{}, framework.Exclude("search_rows", "ServeHTTP")), []string{`no exported method "search_rows"`, `Did you mean "SearchRows"?`}},
		"methods of a pointer":      {framework.Methods(half{}), []string{`methods "framework_test.half"`, "methods_test.go:", "(*half).Pointer", "Pointer is a method of *framework_test.half", `Exclude("Pointer")`}},
		"methods that nearly fit":   {framework.Methods(&misfits{}), []string{`tool "add"`, "build_test.go:", "(*misfits).Add", "2 parameters", "Take one struct", `Exclude("Add")`, `Exclude("Late")`, `Exclude("Many")`, `Exclude("Both")`, `Exclude("Chan")`, `Exclude("Scalar")`}},
		"methods with equal names":  {framework.Methods(equals{}), []string{`tool "get_url"`, "registered twice", `Exclude("GetUrl")`}},
		"methods in other letters":  {framework.Methods(letters{}), []string{"characters that clients refuse", `Exclude("Größe")`}},
		"methods with names":        {framework.Methods(&onlyOne{}, framework.Params("a")), []string{"Params does not fit"}},
		"methods with a nil option": {framework.Methods(&onlyOne{}, nil), []string{"an option is nil"}},
		"methods with a MIME type":  {framework.Methods(&onlyOne{}, framework.MIME("a/b")), []string{`methods "*framework_test.onlyOne"`, "MIME fits no member"}},
		"methods and a tool":        {framework.Group("", framework.Tool("one", none), framework.Methods(&onlyOne{})), []string{`tool "one"`, "registered twice"}},
	}
}

func passRead(ctx context.Context, call *framework.Call, next framework.Next[*protocol.ReadResourceResult]) (*protocol.ReadResourceResult, error) {
	return next(ctx, call)
}

func passList(ctx context.Context, call *framework.Call, next framework.Next[[]framework.ComponentInfo]) ([]framework.ComponentInfo, error) {
	return next(ctx, call)
}

func noStep(framework.Handler) framework.Handler { return nil }

func panics(framework.Handler) framework.Handler { panic("boom") }

// explosive is whatever a user may give, and panics.
type explosive struct{ door }

func (explosive) MarshalJSON() ([]byte, error)      { panic("boom") }
func (explosive) Components() []framework.Component { panic("boom") }
func (explosive) Ready() error                      { panic("boom") }

type onlyOne struct{}

func (*onlyOne) One() int { return 1 }

// misfits has methods that are no tools, each for a reason of its own.
type misfits struct{}

func (*misfits) Add(_, _ int) int                                   { return 0 }
func (*misfits) Late(_ searchIn, _ context.Context) (string, error) { return "", nil } //nolint:revive // that is the fault
func (*misfits) Many(...string)                                     {}
func (*misfits) Both() (int, string)                                { return 0, "" }
func (*misfits) Chan(struct{ C chan int }) error                    { return nil }
func (*misfits) Scalar(context.Context, string) error               { return nil }
func (*misfits) Fine() string                                       { return "" }

type equals struct{}

func (equals) GetURL() int { return 0 }
func (equals) GetUrl() int { return 0 } //nolint:revive // that is the fault

type letters struct{}

func (letters) Größe() int { return 0 }

func TestRegistrationFaults(t *testing.T) {
	t.Parallel()
	for name, tt := range registrationFaults() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := faultsOf(t, quiet().Add(tt.component)).Error()
			for _, w := range tt.want {
				if !strings.Contains(got, w) {
					t.Errorf("the report does not mention %q:\n%s", w, got)
				}
			}
		})
	}
}

// places are what changes with every edit of a test: lines, and the numbers of
// functions without a name.
var places = regexp.MustCompile(`(\.go:|\.func)\d+(\.\d+)*`)

// TestReports keeps the whole text of every report.
func TestReports(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	faults := registrationFaults()
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		report := faultsOf(t, quiet().Add(faults[name].component)).Error()
		fmt.Fprintf(&got, "== %s\n%s\n\n", name, places.ReplaceAllString(report, "${1}N"))
	}
	if len(faults) < 40 {
		t.Errorf("only %d faulty registrations", len(faults))
	}
	golden(t, "testdata/reports.golden", got.String())
}

func TestReportAsJSON(t *testing.T) {
	t.Parallel()
	report := faultsOf(t, quiet().Add(
		framework.Tool("a b", none, framework.MIME("x")),
		framework.Tool("fine", none),
		framework.Tool("refund", func(context.Context, struct{ C chan int }) (string, error) { return "", nil }, framework.Describe("Refunds.")),
		framework.Methods(&misfits{}, framework.Exclude("Many", "Both", "Chan", "Late", "Fine")),
		nil,
	))
	raw, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/report.json", places.ReplaceAllString(string(raw), "${1}N")+"\n")
	var read struct {
		Problems, Warnings int
		Faults             []framework.Fault
	}
	if err := json.Unmarshal(raw, &read); err != nil || len(read.Faults) != len(report.Faults) || read.Problems+read.Warnings != len(read.Faults) {
		t.Errorf("read back: %v, %+v", err, read)
	}
	for _, f := range report.Faults {
		if !slices.Contains(read.Faults, f) {
			t.Errorf("the JSON does not have %+v", f)
		}
	}
	if empty, err := json.Marshal(&framework.BuildError{}); err != nil || string(empty) != `{"problems":0,"warnings":0,"outcome":"Nothing was started.","faults":[]}` {
		t.Errorf("without faults: %s, %v", empty, err)
	}
}

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if want := string(raw); got != want {
		a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
		i := 0
		for i < min(len(a), len(b))-1 && a[i] == b[i] {
			i++
		}
		t.Errorf("%s, line %d (run with -update to rewrite):\ngot  %s\nwant %s", file, i+1, a[i], b[i])
	}
}

func TestAppFaults(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		app  *framework.App
		want string
	}{
		"zero app":             {new(framework.App), "not made by New"},
		"zero app with a log":  {new(framework.App).UseLogger(zap.NewNop()), "not made by New"},
		"no name":              {framework.New("", "1"), "no name"},
		"no version":           {framework.New("a", ""), "no version"},
		"nil option":           {framework.New("a", "1", nil), "AppOption is nil"},
		"nil logger":           {framework.New("a", "1", framework.WithLogger(nil)), "WithLogger"},
		"page size":            {framework.New("a", "1", framework.WithPageSize(0)), "WithPageSize"},
		"website":              {framework.New("a", "1", framework.WithWebsiteURL("weather.example.com")), `"weather.example.com" is not an absolute https or http URL`},
		"server's icon":        {framework.New("a", "1", framework.WithIcons(protocol.Icon{Src: "a.png"})), "clients refuse an icon"},
		"extension's name":     {framework.New("a", "1", framework.WithExtension("ui", nil)), `"ui" is not an extension name`},
		"extension twice":      {framework.New("a", "1", framework.WithExtension("a/b", nil), framework.WithExtension("a/b", nil)), "the extension a/b is declared twice"},
		"extension of tasks":   {framework.New("a", "1", framework.WithExtension("io.modelcontextprotocol/tasks", nil)), "the extension of tasks itself"},
		"extension's settings": {framework.New("a", "1", framework.WithExtension("a/b", []int{1})), "the settings of a/b: []int does not encode as a JSON object"},
		"panicking settings":   {framework.New("a", "1", framework.WithExtension("a/b", explosive{})), "the settings of a/b: panic: boom"},
		"nil store":            {framework.New("a", "1", framework.WithStore(nil)), "WithStore: the store is nil"},
		"store that is nil":    {framework.New("a", "1", framework.WithStore((*memory.Store)(nil))), "WithStore: the store is nil"},
		"other store is nil":   {framework.New("a", "1").UseStore((*memory.Store)(nil)), "UseStore: the store is nil"},
		"panicking provider":   {framework.New("a", "1").AddAt("build_test.go:1", explosive{}), "Components: panic: boom"},
		"unready by panic":     {framework.New("a", "1", framework.WithStrict(), framework.WithAuth(explosive{})), "WithAuth: panic: boom"},
		"nil mapper":           {framework.New("a", "1", framework.WithErrorMapper(nil)), "WithErrorMapper"},
		"negative grace":       {framework.New("a", "1", framework.WithShutdownGrace(-1)), "WithShutdownGrace"},
		"nil auth":             {framework.New("a", "1", framework.WithAuth(nil)), "WithAuth: the authenticator is nil"},
		"auth that is nil":     {framework.New("a", "1", framework.WithAuth((*door)(nil))), "WithAuth: the authenticator is nil"},
		"auth twice":           {framework.New("a", "1", framework.WithAuth(door{}), framework.WithAuth(door{})), "WithAuth: the option is set twice"},
		"middleware":           {framework.New("a", "1").Use(framework.Middleware{Name: "x"}), `"x"`},
		"nil adapter":          {framework.New("a", "1").Use(framework.OnToolCall("x", nil)), `"x"`},
		"nil list":             {framework.New("a", "1").Use(framework.OnList("x", nil)), `"x"`},
		"frames":               {framework.New("a", "1").UseFrames(nil), "frame middleware"},
		"frames of nil":        {framework.New("a", "1").UseFrames(func(transport.Next) transport.Next { return nil }), "a frame middleware returned nil"},
		"frames' panic":        {framework.New("a", "1").UseFrames(func(transport.Next) transport.Next { panic("boom") }), "a frame middleware panicked: boom"},
		"of nil":               {framework.New("a", "1").Use(framework.Middleware{Name: "x", Wrap: noStep}), `the Wrap of the middleware "x" returned nil`},
		"panic":                {framework.New("a", "1").Use(framework.Middleware{Name: "x", Wrap: panics}), `the Wrap of the middleware "x" panicked: boom`},
		"start":                {framework.New("a", "1").OnStart(nil), "OnStart"},
		"stop":                 {framework.New("a", "1").OnStop(nil), "OnStop"},
		"roots":                {framework.New("a", "1").OnRootsChanged(nil), "OnRootsChanged"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			placed := !strings.HasPrefix(name, "zero app") && name != "unready by panic"
			if got := faultsOf(t, tt.app); !strings.Contains(got.Error(), tt.want) || placed && !strings.Contains(got.Faults[0].Where, "build_test.go:") {
				t.Errorf("got %+v, want %q", got.Faults, tt.want)
			}
		})
	}
}

// A step of the app that cannot be built is one fault, however many components it wraps,
// and hides no other.
func TestBrokenStepsAreNamedOnce(t *testing.T) {
	t.Parallel()
	report := faultsOf(t, quiet().
		Use(framework.Middleware{Name: "x", Wrap: panics}, framework.Middleware{Name: "y", Wrap: noStep}).
		UseFrames(func(transport.Next) transport.Next { return nil }).
		Add(framework.Tool("a", none, framework.Describe("a")), framework.Tool("b", none, framework.Describe("b"))))
	var got []string
	for _, f := range report.Faults {
		got = append(got, f.Problem)
	}
	want := []string{
		"a frame middleware returned nil",
		`the Wrap of the middleware "x" panicked: boom`,
		`the Wrap of the middleware "y" returned nil`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// What is added at run time is built like the rest.
func TestBrokenStepAtRunTime(t *testing.T) {
	t.Parallel()
	s := build(t, quiet())
	err := s.Add(framework.Tool("t", none, framework.With(framework.Middleware{Name: "m", Wrap: panics})))
	var report *framework.BuildError
	if !errors.As(err, &report) || !strings.Contains(err.Error(), "Nothing was added.") {
		t.Errorf("got %v", err)
	}
}

func TestReportHasEveryFault(t *testing.T) {
	t.Parallel()
	report := faultsOf(t, quiet().Add(
		framework.Tool("fine", none, framework.Describe("is fine")),
		framework.Tool("refund", func(context.Context, struct{ C chan int }) (string, error) { return "", nil }),
		framework.ResourceTemplate("orders://{user}/{year}", orders, framework.Describe("Orders")),
		framework.Tool("a b", none, framework.Describe("bad name"), framework.MIME("x")),
	))
	got := report.Error()
	for _, w := range []string{
		"kagami: 5 problems, 1 warning. Nothing was started.\n",
		"\n  tool \"refund\"   build_test.go:", "(chan int|C)",
		"\n  template \"orders://{user}/{year}\"   build_test.go:", "orders\n    orderURI.Yeaar (build_test.go:30): uri",
		"\n  warning  tool \"refund\"", "no description",
	} {
		if w == "(chan int|C)" {
			w = "chan int"
		}
		if !strings.Contains(got, w) {
			t.Errorf("the report does not have %q:\n%s", w, got)
		}
	}
	if strings.Contains(got, `"fine"`) {
		t.Errorf("the report names what is fine:\n%s", got)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	component := framework.Tool("bare", none)
	core, logs := observer.New(zap.WarnLevel)
	server, err := framework.New("test", "1.0.0", framework.WithLogger(zap.New(core))).Add(component).Build()
	if err != nil {
		t.Fatalf("a warning stopped Build: %v", err)
	}
	if logs.Len() != 0 {
		t.Errorf("before Serve the log has %v", logs.All())
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := server.Serve(ended, carrier(func(context.Context, transport.Host) error { return nil })); err != nil {
		t.Fatal(err)
	}
	if all := logs.All(); len(all) != 1 || all[0].Level != zap.WarnLevel || !strings.HasPrefix(all[0].Message, `tool "bare": no description. Add Describe`) ||
		!strings.Contains(fmt.Sprint(all[0].ContextMap()["where"]), "tool_test.go:") {
		t.Errorf("the log has %v", logs.All())
	}
	report := faultsOf(t, quiet(framework.WithStrict()).Add(component))
	if len(report.Faults) != 1 || report.Faults[0].Warning || !strings.Contains(report.Error(), "no description") {
		t.Errorf("WithStrict: %v", report)
	}
}

func TestOptionalVariableOfARequiredField(t *testing.T) {
	t.Parallel()
	read := func(context.Context, struct {
		Page int `uri:"page"`
		Size int `uri:"size" default:"9"`
	},
	) (string, error) {
		return "", nil
	}
	component := framework.ResourceTemplate("notes://all{?page,size}", read, framework.Describe("Notes."))
	report := faultsOf(t, quiet(framework.WithStrict()).Add(component))
	if len(report.Faults) != 1 || !strings.Contains(report.Error(), `matches without "page", but the field is required`) {
		t.Errorf("WithStrict: %v", report)
	}
}

type misruled struct {
	Name  string `json:"name"`
	Inner []struct {
		Count int `json:"count"`
	} `json:"inner"`
	Size int `json:"size" validate:"min=abc"`
}

// A fault of a field is at its line, and the report has both that and the line of the function.
func TestWhereIsTheField(t *testing.T) {
	t.Parallel()
	report := faultsOf(t, quiet().Add(framework.Tool("a", func(context.Context, misruled) (string, error) { return "", nil }, framework.Describe("A."))))
	file, line, _ := strings.Cut(report.Faults[0].Where, ":")
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(line)
	if lines := strings.Split(string(source), "\n"); err != nil || n < 1 || n > len(lines) || !strings.HasPrefix(lines[n-1], "\tSize int ") {
		t.Errorf("the fault is at %s", report.Faults[0].Where)
	}
	if want := "misruled.Size (" + report.Faults[0].Where + "): validate rule"; !strings.Contains(report.Error(), want) || !strings.Contains(report.Error(), "TestWhereIsTheField.func1") {
		t.Errorf("want %q in\n%s", want, report)
	}
}

type misnamed struct {
	ID string `uri:"id"`
	No string `uri:"no"`
}

// A field of a URI that the template does not have is at its line, too.
func TestWhereIsTheURIsField(t *testing.T) {
	t.Parallel()
	report := faultsOf(t, quiet().Add(framework.ResourceTemplate("a://{id}", func(context.Context, misnamed) (string, error) { return "", nil }, framework.Describe("A."))))
	file, line, _ := strings.Cut(report.Faults[0].Where, ":")
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(line)
	if lines := strings.Split(string(source), "\n"); err != nil || n < 1 || n > len(lines) || !strings.HasPrefix(lines[n-1], "\tNo string ") {
		t.Errorf("the fault is at %s", report.Faults[0].Where)
	}
}

func TestWhereIsTheUsersFunction(t *testing.T) {
	t.Parallel()
	m := &shop{}
	for name, tt := range map[string]struct {
		component framework.Component
		function  string
	}{
		"function": {framework.Tool("a b", none), "none"},
		"method":   {framework.Tool("a b", m.bad), "(*shop).bad"},
		"plain":    {framework.Func("a b", m.bad), "(*shop).bad"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := faultsOf(t, quiet().Add(tt.component)).Faults
			last := f[len(f)-1]
			if last.Function != tt.function || !strings.Contains(last.Where, "_test.go:") || strings.Contains(last.Where, "/") {
				t.Errorf("got %q at %q", last.Function, last.Where)
			}
		})
	}
}

type shop struct{}

func (*shop) bad(context.Context, struct{}) (string, error) { return "", nil }

func TestBuildTwice(t *testing.T) {
	t.Parallel()
	app := quiet().Add(framework.Tool("search", search))
	first, second := build(t, app), build(t, app)
	first.RemoveTools("search")
	if got := dial(t, second, protocol.Rev20251125).tool("search", `{"query":"go"}`).text(); !strings.Contains(got, "go") {
		t.Errorf("the servers share: %s", got)
	}
}

// TestSlicesOfOptionsAreCopied: two calls of append may share an array, and Build runs after both.
func TestSlicesOfOptionsAreCopied(t *testing.T) {
	t.Parallel()
	common := append(make([]framework.Option, 0, 2), framework.ReadOnly())
	scopes := append(make([]string, 0, 2), "shop")
	s := build(t, quiet().Add(
		framework.Tool("a", none, append(common, framework.Scopes(append(scopes, "read")...))...),
		framework.Tool("b", none, append(common, framework.Scopes(append(scopes, "write")...))...),
	))
	for i, want := range []string{"[shop read]", "[shop write]"} {
		if c := s.Inspect().Components[i]; fmt.Sprint(c.Scopes) != want {
			t.Errorf("tool %q needs %v, want %s", c.Name, c.Scopes, want)
		}
	}
}

// TestTwiceIsSaidOnce: where two components want one name the report tells where each was
// registered, be it one function, and what is wrong with both once.
func TestTwiceIsSaidOnce(t *testing.T) {
	t.Parallel()
	bad := func(context.Context, struct {
		N int `json:"n" default:"x"`
	},
	) (string, error) {
		return "", nil
	}
	app := quiet()
	app.Add(framework.Tool("t", bad))
	app.Add(framework.Tool("t", bad))
	report := faultsOf(t, app)
	_, _, line, _ := runtime.Caller(0)
	want := fmt.Sprintf("registered twice: build_test.go:%d and build_test.go:%d", line-3, line-2)
	if text := report.Error(); len(report.Faults) != 3 || !strings.Contains(text, want) || strings.Count(text, `default "x"`) != 1 {
		t.Errorf("the report does not say %s, and all else once:\n%s", want, text)
	}
	app = quiet()
	for range 2 {
		app.Add(framework.Tool("t", none))
	}
	if text := faultsOf(t, app).Error(); !strings.Contains(text, ".go:") || strings.Contains(text, " and framework") {
		t.Errorf("one line, said as two:\n%s", text)
	}
}

func promptOf[Args any](opts ...framework.Option) framework.Component {
	return framework.Prompt("p", func(context.Context, Args) (framework.Messages, error) { return nil, nil }, opts...)
}
