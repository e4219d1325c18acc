package streamable_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

var (
	errFirst  = errors.New("first")
	errSecond = errors.New("second")
)

type lifeKey struct{}

// TestLife: whatever is done to the context of a session or an exchange, and in whatever
// order, it says what one of the standard library says.
func TestLife(t *testing.T) {
	t.Parallel()
	acts := []string{"look", "derive", "value", "end", "end quietly", "end again", "end parent"}
	for n := range len(acts) * len(acts) * len(acts) {
		order := []string{acts[n%len(acts)], acts[n/len(acts)%len(acts)], acts[n/len(acts)/len(acts)]}
		synctest.Test(t, func(t *testing.T) {
			own := observe(order, func(parent context.Context) (context.Context, func(error)) {
				ctx, end := streamable.NewLife(parent)
				return ctx, end
			})
			std := observe(order, func(parent context.Context) (context.Context, func(error)) {
				ctx, cancel := context.WithCancelCause(parent)
				return ctx, cancel
			})
			if own != std {
				t.Errorf("%v:\n%s\nwant\n%s", order, own, std)
			}
		})
	}
}

func observe(order []string, fresh func(context.Context) (context.Context, func(error))) (seen string) {
	parent, endParent := context.WithCancelCause(context.WithValue(context.Background(), lifeKey{}, "v"))
	defer endParent(nil)
	ctx, end := fresh(parent)
	defer end(nil)
	var derived context.Context
	for _, act := range order {
		switch act {
		case "look":
			select {
			case <-ctx.Done():
				seen += "done "
			default:
			}
		case "derive":
			d, cancel := context.WithCancel(ctx)
			defer cancel()
			derived = d //nolint:fatcontext // of ctx each time
		case "value":
			seen += fmt.Sprint(ctx.Value(lifeKey{}), " ")
		case "end":
			end(errFirst)
		case "end quietly":
			end(nil)
		case "end again":
			end(errSecond)
		case "end parent":
			endParent(errFirst)
		}
		synctest.Wait()
		_, limited := ctx.Deadline()
		seen += fmt.Sprint(ctx.Err(), context.Cause(ctx), limited, "; ")
		if derived != nil {
			seen += fmt.Sprint(derived.Err(), context.Cause(derived), "; ")
		}
	}
	return seen
}

// What is to run after the end runs once, and not if it was stopped before.
func TestLifeAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, end := streamable.NewLife(t.Context())
		ran := make(chan string, 9)
		ctx.AfterFunc(func() { ran <- "first" })
		stop := ctx.AfterFunc(func() { ran <- "stopped" })
		if !stop() || stop() {
			t.Error("stopping once is possible, and twice is not")
		}
		late := ctx.AfterFunc(func() { ran <- "second" })
		end(errFirst)
		end(errSecond)
		ctx.AfterFunc(func() { ran <- "third" })
		synctest.Wait()
		if late() || len(ran) != 3 {
			t.Errorf("%d ran", len(ran))
		}
	})
}
