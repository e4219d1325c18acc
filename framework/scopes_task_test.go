package framework_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

// TestTasksNeedTheScopesOfTheirTool: with a token that lacks them, the same principal can
// neither see what a call came to, nor answer its questions, nor cancel it.
func TestTasksNeedTheScopesOfTheirTool(t *testing.T) {
	ask := func(ctx context.Context, _ struct{}) (string, error) {
		n, err := framework.Elicit[name](ctx, "Who?")
		return n.Name, err
	}
	for _, rev := range []protocol.Revision{protocol.Rev20251125, protocol.Rev20260728} {
		bubble(t, func(t *testing.T) {
			secret := framework.Tool("secret", ask, framework.Scopes("admin"), framework.Task(framework.TaskOptional))
			s := build(t, quiet().Add(secret, framework.Tool("open", ask, framework.Task(framework.TaskOptional))))
			who := func(scopes ...string) *peer {
				return dial(t, s, rev, withCaps(declares), as(&framework.Principal{Subject: "u", Scopes: scopes}))
			}
			admin, user := who("admin"), who()
			ids := map[string]string{}
			for _, tool := range []string{"secret", "open"} {
				if admin.handshake() {
					ids[tool] = admin.start(tool, `{}`, `{}`).TaskID
				} else {
					ids[tool] = admin.task(tool, `{}`)
				}
			}
			methods := []string{"tasks/get", "tasks/cancel"}
			if !admin.handshake() {
				methods = append(methods, "tasks/update")
			}
			ask := func(p *peer, method, id string) reply {
				return p.call(method, fmt.Sprintf(`{"taskId":%q,"inputResponses":{}}`, id))
			}
			for _, method := range methods {
				got, absent := ask(user, method, ids["secret"]), ask(user, method, "absent")
				if got.Error == nil || absent.Error == nil || got.Error.Message != absent.Error.Message || got.Error.Code != absent.Error.Code {
					t.Errorf("%s of the task: %+v, of none: %+v", method, got.Error, absent.Error)
				}
			}
			ask(user, "tasks/get", ids["open"]).ok()
			if user.handshake() {
				if listed := user.call("tasks/list", "").ok().names("tasks", "taskId"); fmt.Sprint(listed) != "["+ids["open"]+"]" {
					t.Errorf("listed %v of %v", listed, ids)
				}
				if listed := admin.call("tasks/list", "").ok().names("tasks", "taskId"); len(listed) != 2 {
					t.Errorf("the admin is listed %v", listed)
				}
			}
			ask(admin, "tasks/get", ids["secret"]).ok()
			s.Remove(secret) // what it came to stays what it was
			ask(admin, "tasks/get", ids["secret"]).ok()
			if got := ask(user, "tasks/get", ids["secret"]); got.Error == nil {
				t.Errorf("of a tool that is gone: %s", got.Result)
			}
		})
	}
}

// TestWorkersAreNoCallers: a worker that may not see the tool of a task looks it up again and
// again. Steps of PhaseTrace do not see that, because it is no call.
func TestWorkersAreNoCallers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &witness{answer: func(result *framework.Result, err error) (*framework.Result, error) { return result, err }}
		all := nodes(t, 2, func(app *framework.App, node int) {
			scopes := []string{"films", "new"}
			app.Use(w.step(framework.PhaseTrace)).Add(framework.Tool("film", none, framework.Scopes(scopes[:node+1]...), framework.Task(framework.TaskOptional)))
		})
		p := dial(t, all[0], protocol.Rev20260728, withCaps(declares), ada(nil))
		id := p.task("film", `{}`)
		time.Sleep(10 * time.Second)
		if got := p.get(id); got.Status != "working" {
			t.Fatalf("the task is %s", got.Status)
		}
		if seen := w.take(); len(seen) > 0 {
			t.Errorf("saw %q", seen)
		}
	})
}
