package mcpfx_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/fx"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/mcpfx"
	"github.com/kagami-mcp/kagami/framework/store/boltstore"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
)

// asServer makes the test binary the program on stdio.
const asServer = "MCPFX_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		fx.New(mcpfx.Module("shop", "1.0.0", mcpfx.Stdio()), mcpfx.Provide(newBilling), fx.Invoke(leavesWord)).Run()
		return
	}
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"))
}

type billing struct{ rate int }

func newBilling() *billing { return &billing{rate: 2} }

type price struct {
	Rate int `json:"rate"`
}

func (b *billing) Price(context.Context, struct{}) (price, error) { return price{b.rate}, nil }

func (b *billing) Components() []framework.Component {
	said := framework.Describe("Say the price.")
	return []framework.Component{framework.Tool("price", b.Price, said), framework.Tool("again", b.Price, said)}
}

type audit struct{}

func newAudit(*billing) (*audit, error) { return &audit{}, nil }

func (a *audit) Components() []framework.Component {
	return []framework.Component{framework.Tool("log", func(context.Context, struct{}) (string, error) { return "", nil })}
}

// step writes its name before the rest.
func step(name string, seen *[]string) framework.Middleware {
	return framework.Middleware{Name: name, Wrap: func(next framework.Handler) framework.Handler {
		return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
			*seen = append(*seen, name)
			return next(ctx, call)
		}
	}}
}

// serving runs a program on HTTP and returns its URL.
func serving(t *testing.T, opts ...fx.Option) string {
	t.Helper()
	bound := make(chan net.Addr, 1)
	app := fx.New(
		mcpfx.Module("shop", "1.0.0", mcpfx.HTTP("127.0.0.1:0", fiberhttp.OnListen(func(a net.Addr) { bound <- a })),
			mcpfx.Options(framework.WithLogger(zap.NewNop()))),
		fx.Options(opts...))
	start(t, app)
	return fmt.Sprintf("http://%s/mcp", <-bound)
}

func start(t *testing.T, app *fx.App) {
	t.Helper()
	if err := app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := app.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

func connect(t *testing.T, url string) *client.Client {
	t.Helper()
	c, err := client.Connect(t.Context(), client.HTTP(url))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestServesOverHTTP(t *testing.T) {
	t.Parallel()
	var owned *billing
	var server *framework.Server
	c := connect(t, serving(t, mcpfx.Provide(newAudit, newBilling), fx.Populate(&owned, &server)))
	if owned == nil || server == nil {
		t.Fatal("the provider is not there by its type, or the server is not")
	}
	got, err := client.Call[price](t.Context(), c, "price", struct{}{})
	if err != nil || got.Rate != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}

// fx shuffles: thirty programs have the same lists and the same chain.
func TestOrderIsStable(t *testing.T) {
	t.Parallel()
	for range 30 {
		var app *framework.App
		var seen []string
		fxApp := fx.New(
			mcpfx.Module("shop", "1.0.0", mcpfx.Stdio()),
			mcpfx.Provide(newBilling),
			fx.Module("inner", mcpfx.Use(step("5", &seen))),
			mcpfx.Use(step("1", &seen), step("2", &seen)),
			mcpfx.UseProvided(
				func(*billing) framework.Middleware { return step("3", &seen) },
				func() (framework.Middleware, error) { return step("4", &seen), nil },
			),
			mcpfx.Provide(newAudit),
			fx.Populate(&app),
		)
		if err := fxApp.Err(); err != nil {
			t.Fatal(err)
		}
		tools, chain := listed(t, app, &seen)
		if !slices.Equal(tools, []string{"log", "price", "again"}) || !slices.Equal(chain, []string{"1", "2", "3", "4", "5"}) {
			t.Fatalf("tools %v, chain %v", tools, chain)
		}
	}
}

func TestConstructorsAreChecked(t *testing.T) {
	t.Parallel()
	module := mcpfx.Module("shop", "1.0.0", mcpfx.Stdio())
	var none *billing
	for name, c := range map[string]struct {
		opt  fx.Option
		want []string
	}{
		"no provider":    {mcpfx.Provide(func() string { return "" }), []string{"mcpfx.Provide", "mcpfx_test.go:", "func() string", "Components()"}},
		"no results":     {mcpfx.Provide(func() {}), []string{"mcpfx_test.go:", "got a func()", "framework.Provider"}},
		"a value":        {mcpfx.Provide(&billing{}), []string{"*mcpfx_test.billing", "not a constructor"}},
		"nil":            {mcpfx.Provide(nil), []string{"not a constructor"}},
		"a nil provider": {mcpfx.Provide(func() *billing { return none }), []string{"mcpfx_test.go:", "the provider is nil"}},
		"missing":        {mcpfx.Provide(newAudit), []string{"newAudit", "mcpfx_test.go:", "missing type", "*mcpfx_test.billing"}},
		"failing":        {mcpfx.Provide(func() (*billing, error) { return nil, errors.New("no disk") }), []string{"mcpfx_test.go:", "no disk"}},
		"nil component":  {mcpfx.Provide(func() nothing { return nothing{} }), []string{"mcpfx_test.go:", "the component is nil"}},
		"no middleware":  {mcpfx.UseProvided(newBilling), []string{"mcpfx.UseProvided", "newBilling", "mcpfx_test.go:"}},
		"a bare step":    {mcpfx.Use(framework.Middleware{Name: "bare"}), []string{`"bare"`, "mcpfx_test.go:", "its function is nil"}},
		"failing step":   {mcpfx.UseProvided(noKey), []string{"noKey", "mcpfx_test.go:", "no key"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, fx.New(module, c.opt, fx.NopLogger).Err(), c.want...)
		})
	}
	for name, opt := range map[string]fx.Option{"Provide": mcpfx.Provide(newBilling), "Use": mcpfx.Use(), "UseProvided": mcpfx.UseProvided(noKey)} {
		refused(t, fx.New(fx.NopLogger, opt).Err(), "mcpfx."+name+" at mcpfx_test.go:", "needs mcpfx.Module")
	}
	for name, bad := range map[string]fx.Option{
		"no name":    mcpfx.Module("", "1.0.0", mcpfx.Stdio()),
		"WithLogger": mcpfx.Module("shop", "1.0.0", mcpfx.Stdio(), mcpfx.Options(framework.WithLogger(nil))),
		"nil":        mcpfx.Module("shop", "1.0.0", nil),
	} {
		refused(t, fx.New(bad, fx.NopLogger).Err(), "mcpfx.Module at mcpfx_test.go:", name)
	}
	refused(t, fx.New(module, module, fx.NopLogger).Err(), "already provided")
}

func noKey() (framework.Middleware, error) { return framework.Middleware{}, errors.New("no key") }

type nothing struct{}

func (nothing) Components() []framework.Component { return []framework.Component{nil} }

func refused(t *testing.T, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("no %q in: %v", w, err)
		}
	}
	if strings.Contains(err.Error(), "makeFuncStub") {
		t.Errorf("the error names no function of the program: %v", err)
	}
}

func TestCarriersAreChecked(t *testing.T) {
	t.Parallel()
	refused(t, fx.New(mcpfx.Module("shop", "1.0.0"), fx.NopLogger).Err(), `"shop"`, "mcpfx.HTTP(addr)", "mcpfx.Stdio()", "mcpfx.Worker()", "mcpfx.Mounted()")
	refused(t, fx.New(mcpfx.Module("shop", "1.0.0", mcpfx.Stdio(), nil), fx.NopLogger).Err(), "mcpfx_test.go:", "an option is nil")
	refused(t, fx.New(mcpfx.Module("shop", "1.0.0", mcpfx.Carrier(nil)), fx.NopLogger).Err(), "the transport is nil")
	refused(t, fx.New(mcpfx.Module("shop", "1.0.0", mcpfx.Carrier((*ends)(nil))), fx.NopLogger).Err(), "the transport is nil")
	refused(t, fx.New(mcpfx.Module("shop", "1.0.0", mcpfx.Stdio(nil)), fx.NopLogger).Err(), "wraps the carrier is nil")
	none := func(transport.Transport) transport.Transport { return nil }
	refused(t, fx.New(mcpfx.Module("shop", "1.0.0", mcpfx.Stdio(none, none)), fx.NopLogger).Err(), "wraps the carrier returned nil")
	refused(t, fx.New(mcpfx.Module("shop", "1.0.0", mcpfx.Stdio(), mcpfx.Stdio()), fx.NopLogger).Err(), "given twice")
	refused(t, fx.New(mcpfx.Module("shop", "1.0.0", mcpfx.Worker()), fx.NopLogger).Err(), "framework.WithStore")
}

// What has nothing to serve on may have graver faults.
func TestFaultsComeBeforeCarriers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opt  fx.Option
		want string
	}{
		"nil provider": {mcpfx.Provide(func() *billing { return nil }), "the provider is nil"},
		"component":    {mcpfx.Provide(func() broken { return broken{} }), `tool "bad name"`},
		"app option":   {fx.Decorate(func() *framework.App { return framework.New("shop", "1.0.0", nil) }), "an AppOption is nil"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := fx.New(mcpfx.Module("shop", "1.0.0"), c.opt, fx.NopLogger).Err()
			refused(t, err, c.want)
			if err != nil && strings.Contains(err.Error(), "nothing to serve on") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// The error of Build is not buried, and each fault is an entry of the log.
func TestFaultsAreReadable(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.InfoLevel)
	app := fx.New(
		mcpfx.Module("shop", "1.0.0", mcpfx.Stdio()),
		fx.Supply(zap.New(core)),
		mcpfx.Provide(func() broken { return broken{} }))
	var faults *framework.BuildError
	if !errors.As(app.Err(), &faults) || app.Err().Error() != faults.Error() {
		t.Errorf("got %v", app.Err())
	}
	if err := app.Start(t.Context()); err == nil {
		t.Error("it starts")
	}
	got := logs.FilterLevelExact(zap.ErrorLevel).All()
	if len(got) != 1 || got[0].ContextMap()["component"] != `tool "bad name"` ||
		!strings.HasPrefix(fmt.Sprint(got[0].ContextMap()["where"]), "mcpfx_test.go:") {
		t.Errorf("logged %+v", got)
	}
}

type broken struct{}

func (broken) Components() []framework.Component {
	return []framework.Component{framework.Tool("bad name", func(context.Context, struct{}) (string, error) { return "", nil })}
}

func TestTakenPortFailsTheStart(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	core, logs := observer.New(zap.InfoLevel)
	var order []string
	app := fx.New(
		mcpfx.Module("shop", "1.0.0", mcpfx.HTTP(l.Addr().String())),
		fx.Provide(func() *zap.Logger { return zap.New(core) }),
		mcpfx.Provide(func(lc fx.Lifecycle) *billing {
			lc.Append(fx.StartStopHook(func() { order = append(order, "opened") }, func() { order = append(order, "closed") }))
			return newBilling()
		}),
		mcpfx.Use())
	refused(t, app.Start(t.Context()), "address already in use")
	if !slices.Equal(order, []string{"opened", "closed"}) {
		t.Errorf("what was started is not stopped: %v", order)
	}
	if logs.FilterMessage("the program does not start").Len() != 1 {
		t.Errorf("logged %v", logs.All())
	}
}

// A failing OnStart fails the start whatever the carrier, and OnStop runs.
func TestHooksOfTheApp(t *testing.T) {
	t.Parallel()
	for _, carrier := range []mcpfx.Option{mcpfx.HTTP("127.0.0.1:0"), mcpfx.Stdio()} {
		var stopped bool
		app := fx.New(mcpfx.Module("shop", "1.0.0", carrier), fx.NopLogger,
			fx.Decorate(func(app *framework.App) *framework.App {
				app.OnStop(func(context.Context, *framework.Server) error { stopped = true; return nil })
				return app.OnStart(func(context.Context, *framework.Server) error { return errors.New("no network") })
			}))
		refused(t, app.Start(t.Context()), "no network")
		if !stopped {
			t.Error("OnStop did not run")
		}
	}
}

// The server starts after its providers and stops before them; a call in flight ends.
func TestStopsInOrder(t *testing.T) {
	t.Parallel()
	inside, release := make(chan struct{}), make(chan struct{})
	var mu sync.Mutex
	var order []string
	note := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, what)
	}
	bound := make(chan net.Addr, 1)
	app := fx.New(
		mcpfx.Module("shop", "1.0.0", mcpfx.HTTP("127.0.0.1:0", fiberhttp.OnListen(func(a net.Addr) { note("listening"); bound <- a })),
			mcpfx.Options(framework.WithLogger(zap.NewNop()))),
		mcpfx.Provide(func(lc fx.Lifecycle) slow {
			lc.Append(fx.StartStopHook(func() { note("opened") }, func() { note("closed") }))
			return slow(func() { close(inside); <-release; note("answered") })
		}))
	if err := app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	stopInFlight(t, app, fmt.Sprintf("http://%s/mcp", <-bound), inside, release)
	if !slices.Equal(order, []string{"opened", "listening", "answered", "closed"}) {
		t.Errorf("%v", order)
	}
}

// stopInFlight stops the program while its tool "slow" runs, which is inside until release
// is closed: the call has its answer.
func stopInFlight(t *testing.T, app *fx.App, url string, inside <-chan struct{}, release chan<- struct{}) {
	t.Helper()
	c := connect(t, url)
	answered := make(chan error, 1)
	go func() {
		_, err := client.Call[string](t.Context(), c, "slow", struct{}{})
		answered <- err
	}()
	<-inside
	stopped := make(chan error, 1)
	go func() { stopped <- app.Stop(context.WithoutCancel(t.Context())) }()
	close(release)
	if err := errors.Join(<-answered, <-stopped); err != nil {
		t.Error(err)
	}
}

type slow func()

func (s slow) Components() []framework.Component {
	return []framework.Component{framework.Tool("slow", func(context.Context, struct{}) (string, error) { s(); return "done", nil })}
}

// A carrier that fails ends the program, with exit code 1.
func TestEndsWithItsCarrier(t *testing.T) {
	t.Parallel()
	l := unlucky{make(chan struct{})}
	core, logs := observer.New(zap.ErrorLevel)
	app := fx.New(mcpfx.Module("shop", "1.0.0", mcpfx.HTTP("", fiberhttp.Listener(l))), fx.Supply(zap.New(core)))
	start(t, app)
	close(l.fails)
	if ended := <-app.Wait(); ended.ExitCode != 1 {
		t.Errorf("exit code %d", ended.ExitCode)
	}
	if got := logs.FilterMessage("the server has ended"); got.Len() != 1 || !strings.Contains(fmt.Sprint(got.All()[0].ContextMap()["error"]), "no luck") {
		t.Errorf("logged %v", logs.All())
	}
}

type unlucky struct{ fails chan struct{} }

func (u unlucky) Accept() (net.Conn, error) {
	<-u.fails
	return nil, errors.New("no luck")
}
func (unlucky) Close() error   { return nil }
func (unlucky) Addr() net.Addr { return &net.TCPAddr{} }

// A carrier of the program's own is one like the others: when it has ended, so has the
// program.
func TestCarrier(t *testing.T) {
	t.Parallel()
	served := make(passing, 1)
	app := fx.New(mcpfx.Module("shop", "1.0.0", mcpfx.Carrier(served)), mcpfx.Provide(newBilling), fx.NopLogger)
	start(t, app)
	if ended := <-app.Wait(); ended.ExitCode != 0 {
		t.Errorf("exit code %d", ended.ExitCode)
	}
	if _, ok := (<-served).(*framework.Server); !ok {
		t.Error("it served something else")
	}
}

// passing serves for a moment.
type passing chan transport.Host

func (p passing) Serve(_ context.Context, host transport.Host) error {
	p <- host
	return nil
}

func TestWorker(t *testing.T) {
	t.Parallel()
	app := fx.New(
		mcpfx.Module("shop", "1.0.0", mcpfx.Worker()), fx.NopLogger,
		mcpfx.Provide(newBilling),
		fx.Provide(func(lc fx.Lifecycle) (framework.Store, error) {
			store, err := boltstore.Open(t.TempDir() + "/shop.db")
			if err != nil {
				return nil, err
			}
			lc.Append(fx.StopHook(store.Close))
			return store, nil
		}))
	start(t, app)
	select {
	case s := <-app.Wait():
		t.Errorf("the worker has ended: %v", s)
	default:
	}
}

// What the graph decorates is what components and the app get.
func TestDecorate(t *testing.T) {
	t.Parallel()
	c := connect(t, serving(t, mcpfx.Provide(newBilling), fx.Decorate(func(b *billing) *billing { return &billing{b.rate * 10} })))
	got, err := client.Call[price](t.Context(), c, "price", struct{}{})
	if err != nil || got.Rate != 20 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestValidates(t *testing.T) {
	t.Parallel()
	program := fx.Options(mcpfx.Module("shop", "1.0.0", mcpfx.Stdio()), mcpfx.Provide(newAudit), fx.NopLogger)
	if err := fx.ValidateApp(program, mcpfx.Provide(newBilling)); err != nil {
		t.Error(err)
	}
	refused(t, fx.ValidateApp(program), "newAudit", "missing")
}

// program is the test binary as the program on stdio, with that in its environment.
func program(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, exe)
	cmd.Env = append(append(os.Environ(), asServer+"=1"), env...)
	return cmd
}

// The end of stdin ends the program, with exit code 0; stdout is the protocol's alone,
// and fx is silent.
func TestStdio(t *testing.T) {
	t.Parallel()
	cmd := program(t)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Stdin = io.MultiReader(strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":` +
		`{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"price","arguments":{}}}` + "\n"))
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[1], `\"rate\":2`) {
		t.Errorf("stdout: %s", out.String())
	}
	if errs.Len() != 0 {
		t.Errorf("stderr: %s", errs.String())
	}
}

// ends is a carrier whose client has gone at once.
type ends struct{}

func (ends) Serve(context.Context, transport.Host) error { return nil }

// TestEndAtOnce: a program whose carrier has served to its end before the start is over ends as well.
func TestEndAtOnce(t *testing.T) {
	t.Parallel()
	for i := range 200 {
		app := fx.New(mcpfx.Module("shop", "1.0.0", mcpfx.Carrier(ends{})), mcpfx.Provide(newBilling), fx.NopLogger)
		if err := app.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		select {
		case <-app.Wait():
		case <-time.After(20 * time.Second):
			t.Fatalf("run %d does not end", i)
		}
		if err := app.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// lastWord names the file that the program leaves when it was stopped in order.
const lastWord = "MCPFX_TEST_LAST_WORD"

func leavesWord(l fx.Lifecycle) {
	path := os.Getenv(lastWord)
	if path == "" {
		return
	}
	l.Append(fx.StopHook(func() error {
		fmt.Fprintln(os.Stderr, "closing")
		return os.WriteFile(path, []byte("closed"), 0o600)
	}))
}

// A client that dies takes all streams with it, and the program stops in order.
func TestStdioOutlivesItsClient(t *testing.T) {
	t.Parallel()
	word := filepath.Join(t.TempDir(), "word")
	cmd := program(t, lastWord+"="+word)
	stdin, errIn := cmd.StdinPipe()
	stdout, errOut := cmd.StdoutPipe()
	stderr, errErr := cmd.StderrPipe()
	if err := errors.Join(errIn, errOut, errErr, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	_, err := io.WriteString(stdin, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
	if _, errRead := stdout.Read(make([]byte, 1)); err != nil || errRead != nil { // it serves
		t.Fatal(err, errRead)
	}
	if err := errors.Join(stdout.Close(), stderr.Close(), stdin.Close()); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the program ended by %v", err)
	}
	if said, err := os.ReadFile(word); string(said) != "closed" {
		t.Errorf("it closed nothing: %q, %v", said, err)
	}
}

// TestStartIsLimited: when the time for the start is over, the functions of OnStart are stopped, and
// OnStop's functions run.
func TestStartIsLimited(t *testing.T) {
	t.Parallel()
	for name, carrier := range map[string]mcpfx.Option{"HTTP": mcpfx.HTTP("127.0.0.1:0"), "mounted": mcpfx.Mounted()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began, stopped := make(chan struct{}), make(chan struct{})
			app := fx.New(mcpfx.Module("shop", "1.0.0", carrier), mcpfx.Provide(newBilling), fx.NopLogger,
				fx.Decorate(func(app *framework.App) *framework.App {
					app.OnStop(func(context.Context, *framework.Server) error { close(stopped); return nil })
					return app.OnStart(func(ctx context.Context, _ *framework.Server) error {
						close(began)
						<-ctx.Done()
						return ctx.Err()
					})
				}))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() { <-began; cancel() }()
			if err := app.Start(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			select {
			case <-stopped:
			case <-time.After(20 * time.Second):
				t.Error("OnStart still waits")
			}
		})
	}
}
