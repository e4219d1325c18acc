package testkit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

// guest holds the testkit's own components in a server. Their handlers are controlled and
// observed by the rules.
type guest struct {
	entering sync.Once
	failed   error // why they could not be added

	mu     sync.Mutex // guards visits
	visits map[string]*visit
}

// visit is one call of a tool that waits.
type visit struct {
	began chan struct{} // closed by begin
	begin func()
	leave chan struct{} // closed by free: the handler may end
	free  func()
	ended chan error // of the handler's context
}

// Names of the guests.
const (
	guestWait = "testkit-wait" // waits until the rule lets it leave
	guestAsk  = "testkit-ask"  // asks the user a form
	guestAt   = "testkit-at"   // has an argument that is mirrored in a header
	guestTask = "testkit-task" // like guestWait; may be a task
	guestMust = "testkit-must" // like guestWait; is always a task
	guestPoll = "testkit-poll" // like guestAsk; may be a task
	guestLate = "testkit-late" // is added and removed, to change the list of tools
	guestURI  = "testkit://news"
)

type ticketIn struct {
	Ticket string `json:"ticket"`
}

type regionIn struct {
	Region string `json:"region,omitempty" header:"Testkit-Region"`
}

// question is what guestAsk asks.
const question = "testkit: which name?"

// enter adds the guests to the server, once.
func (g *guest) enter(server *framework.Server) error {
	g.entering.Do(func() {
		g.visits = make(map[string]*visit)
		if err := server.Add(g.components()...); err != nil {
			g.failed = fmt.Errorf("the testkit's own components cannot be added: %w", err)
		}
	})
	return g.failed
}

func (g *guest) components() []framework.Component {
	type none struct{}
	ask := func(ctx context.Context, _ none) (string, error) { return framework.Elicit[string](ctx, question) }
	return []framework.Component{
		framework.Tool(guestWait, g.wait),
		framework.Tool(toolSteps, saySteps),
		framework.Tool(toolFail, func(context.Context, none) (string, error) { return "", framework.UserErrorf("out of tea") }),
		framework.Tool(guestAsk, func(ctx context.Context, in none) (string, error) { return ask(ctx, in) }),
		framework.Tool(guestAt, func(_ context.Context, in regionIn) (string, error) { return "in " + in.Region, nil }),
		framework.Tool(guestTask, g.wait, framework.Task(framework.TaskOptional, framework.TTL(time.Hour))),
		framework.Tool(guestMust, g.wait, framework.Task(framework.TaskRequired, framework.TTL(time.Hour))),
		framework.Tool(guestPoll, ask, framework.Task(framework.TaskOptional, framework.TTL(time.Hour))),
		framework.Resource(guestURI, func(context.Context) (string, error) { return "news", nil }),
	}
}

// saySteps reports progress, and logs.
func saySteps(ctx context.Context, _ struct{}) (stepsOut, error) {
	const all = 3
	for i := range all {
		framework.Progress(ctx, i+1, all, "a step")
	}
	framework.Notify(ctx, protocol.LevelInfo, "testkit: info")
	framework.Notify(ctx, protocol.LevelError, "testkit: error")
	return stepsOut{all}, nil
}

// wait does nothing until the rule lets it leave, or its context ends.
func (g *guest) wait(ctx context.Context, in ticketIn) (string, error) {
	v := g.visit(in.Ticket)
	if v == nil {
		return "", framework.UserErrorf("there is no ticket %q", in.Ticket)
	}
	v.begin()
	select {
	case <-v.leave:
	case <-ctx.Done():
	}
	select {
	case v.ended <- ctx.Err():
	default: // middleware of the app has called it again
	}
	return "waited", nil
}

func (g *guest) visit(ticket string) *visit {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.visits[ticket]
}

// expect makes a ticket, for one call.
func (g *guest) expect() (ticket string, v *visit) {
	g.mu.Lock()
	defer g.mu.Unlock()
	ticket = fmt.Sprint("ticket ", len(g.visits)+1)
	v = &visit{began: make(chan struct{}), leave: make(chan struct{}), ended: make(chan error, 1)}
	v.begin = sync.OnceFunc(func() { close(v.began) })
	v.free = sync.OnceFunc(func() { close(v.leave) })
	g.visits[ticket] = v
	return ticket, v
}

// goHome lets all handlers that a rule has left waiting return.
func (g *guest) goHome() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, v := range g.visits {
		v.free()
	}
}

// errNotRun is the error of a rule whose call did not reach the handler.
var errNotRun = errors.New("want the tool to run, which a step of the app may have refused")

// begun returns nil if the handler has begun, and otherwise why it will not.
func (v *visit) begun(otherwise error) error {
	select {
	case <-v.began:
		return nil
	default:
		return errors.Join(errNotRun, otherwise)
	}
}

// cancelled checks that the context of the handler ends before the handler is let go.
func (v *visit) cancelled(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case ended := <-v.ended:
		if errors.Is(ended, context.Canceled) {
			return nil
		}
	}
	return errors.New("want the handler's context to end")
}

// leaves lets the handler return, and checks that its context had not ended.
func (v *visit) leaves(ctx context.Context) error {
	v.free()
	select {
	case err := <-v.ended:
		return err
	case <-ctx.Done():
		return errors.New("want the tool to end")
	}
}
