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

// guest are components of the testkit's own in a server: what a call does in them is
// known, and seen.
type guest struct {
	entering sync.Once
	failed   error // to enter

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
	guestWait  = "testkit-wait"  // until it may leave
	guestSteps = "testkit-steps" // progress, logs, a structured result
	guestFail  = "testkit-fail"  // by an error for the model
	guestAsk   = "testkit-ask"   // a form
	guestAt    = "testkit-at"    // an argument in a header
	guestTask  = "testkit-task"  // as guestWait, a task if the client likes
	guestMust  = "testkit-must"  // likewise, a task always
	guestPoll  = "testkit-poll"  // as guestAsk, a task if the client likes
	guestLate  = "testkit-late"  // in no list until it is announced
	guestURI   = "testkit://news"
)

type ticketIn struct {
	Ticket string `json:"ticket"`
}

type stepsOut struct {
	Steps int `json:"steps"`
}

type regionIn struct {
	Region string `json:"region,omitempty" header:"Testkit-Region"`
}

// question is what guestAsk asks.
const question = "testkit: which name?"

// enter adds the guests, once.
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
		framework.Tool(guestSteps, saySteps),
		framework.Tool(guestFail, func(context.Context, none) (string, error) { return "", framework.UserErrorf("out of tea") }),
		framework.Tool(guestAsk, func(ctx context.Context, in none) (string, error) { return ask(ctx, in) }),
		framework.Tool(guestAt, func(_ context.Context, in regionIn) (string, error) { return "in " + in.Region, nil }),
		framework.Tool(guestTask, g.wait, framework.Task(framework.TaskOptional, framework.TTL(time.Hour))),
		framework.Tool(guestMust, g.wait, framework.Task(framework.TaskRequired, framework.TTL(time.Hour))),
		framework.Tool(guestPoll, ask, framework.Task(framework.TaskOptional, framework.TTL(time.Hour))),
		framework.Resource(guestURI, func(context.Context) (string, error) { return "news", nil }),
	}
}

// saySteps says what it does on the way.
func saySteps(ctx context.Context, _ struct{}) (stepsOut, error) {
	const all = 3
	for i := range all {
		framework.Progress(ctx, i+1, all, "a step")
	}
	framework.Notify(ctx, protocol.LevelInfo, "testkit: info")
	framework.Notify(ctx, protocol.LevelError, "testkit: error")
	return stepsOut{all}, nil
}

// wait does nothing until it may leave, or must.
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
	default: // a step of the app has called it again
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

// goHome ends what a rule has left running.
func (g *guest) goHome() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, v := range g.visits {
		v.free()
	}
}

// errNotRun is what becomes of a call that a step of the app refuses, or that nobody serves.
var errNotRun = errors.New("want the tool to run, which a step of the app may have refused")

// begun says that the handler has been at work, or else why it will not be.
func (v *visit) begun(otherwise error) error {
	select {
	case <-v.began:
		return nil
	default:
		return errors.Join(errNotRun, otherwise)
	}
}

// cancelled says that the context of the handler must end before it may leave.
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

// leaves lets the handler end, whose context must not have.
func (v *visit) leaves(ctx context.Context) error {
	v.free()
	select {
	case err := <-v.ended:
		return err
	case <-ctx.Done():
		return errors.New("want the tool to end")
	}
}
