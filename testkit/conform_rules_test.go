package testkit_test

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/testkit"
	"github.com/kagami-mcp/kagami/transport"
)

// fault is a server, or what is on the way to it, that breaks a rule.
type fault struct {
	rule, revision string
	how            any    // a transport.Middleware, a wire or roundTrips
	want           string // of the complaint
	empty          bool   // of an app that has nothing
}

type wire = func(transport.Conn) transport.Conn

type roundTrips = func(http.RoundTripper) http.RoundTripper

const (
	batches = "2025-03-26"
	live    = "2025-11-25"
	modern  = "2026-07-28"
)

func baseFaults() []fault {
	answering := instead("notifications/testkit", func(_ context.Context, b *bent) error {
		b.queue = append(b.queue, `{"jsonrpc":"2.0","id":0,"result":{}}`)
		return nil
	})
	var n atomic.Int32
	shuffling := outgoing(func(frame string) []string {
		if n.Add(1)%2 == 0 {
			frame = strings.ReplaceAll(frame, `"name":"fail"`, `"name":"failure"`)
		}
		return []string{frame}
	})
	return []fault{
		{rule: "base-1", revision: modern, how: saying(`"id":7`, `"id":"7"`), want: "want id 7"},
		{rule: "base-2", revision: live, how: saying(`"jsonrpc":"2.0"`, `"jsonrpc":"2.1"`), want: "want one of result and error"},
		{rule: "base-3", revision: live, how: saying(`-32600`, `-32603`), want: "want error [-32600]"},
		{rule: "base-4", revision: live, how: answering, want: "a notification was answered"},
		{rule: "base-5", revision: modern, how: saying(`-32601`, `-32603`), want: "want error [-32601]"},
		{rule: "base-6", revision: live, how: saying(`-32700`, `-32600`), want: "want error [-32700]"},
		{rule: "base-7", revision: batches, how: saying(`"b"`, `"c"`), want: "want responses to 1 and b"},
		{rule: "base-8", revision: live, how: saying(`-32600`, `-32603`), want: "want error [-32600]"},
		{rule: "base-9", revision: modern, how: saying(`"complete"`, `"done"`), want: `want resultType "complete"`},
		{rule: "base-10", revision: modern, how: saying(`"version"`, `"revision"`), want: "serverInfo"},
		{rule: "version-1", revision: live, how: saying(`"protocolVersion":"2025-11-25"`, `"protocolVersion":"2025-03-26"`), want: "another protocolVersion"},
		{rule: "version-2", revision: live, how: saying(`"protocolVersion":"2`, `"protocolVersion":"1`), want: "another protocolVersion"},
		{rule: "version-3", revision: live, how: saying(`"result":{}`, `"result":{"pong":1}`), want: "want {}"},
		{rule: "version-4", revision: modern, how: saying(`-32602`, `-32600`), want: "want error [-32602]"},
		{rule: "version-5", revision: modern, how: saying(`"requested"`, `"asked"`), want: "supported and requested"},
		{rule: "version-6", revision: modern, how: saying(`"supportedVersions"`, `"versions"`), want: "want supportedVersions"},
		{rule: "version-7", revision: modern, how: saying(`-32601`, `-32600`), want: "want error [-32601]"},
		{rule: "list-1", revision: live, how: saying(`-32602`, `-32603`), want: "want error [-32602]"},
		{rule: "list-2", revision: live, how: shuffling, want: "the second list is another"},
		{rule: "list-3", revision: modern, how: saying(`"ttlMs"`, `"ttl"`), want: "want ttlMs"},
		{rule: "list-4", revision: modern, how: saying(`-32601`, `-32603`), want: "want error [-32601]", empty: true},
		{rule: "list-5", revision: modern, how: saying(`"cacheScope"`, `"scope"`), want: "want ttlMs and cacheScope"},
		{rule: "resource-1", revision: live, how: saying(`tea://menu`, `menu`), want: "no scheme"},
		{rule: "resource-2", revision: live, how: saying(`"uriTemplate"`, `"template"`), want: "no uriTemplate"},
		{rule: "resource-3", revision: live, how: saying(`-32002`, `-32603`), want: "want error [-32002]"},
		{rule: "resource-4", revision: modern, how: saying(`-32602`, `-32002`), want: "want error [-32602]"},
		{rule: "prompt-1", revision: live, how: saying(`"name":"brew"`, `"name":""`), want: "no name"},
		{rule: "prompt-2", revision: live, how: saying(`-32602`, `-32603`), want: "want error [-32602]"},
		{rule: "prompt-3", revision: live, how: saying(`-32602`, `-32603`), want: "want error [-32602]"},
		{rule: "tool-1", revision: live, how: saying(`"name":"fail"`, `"name":"fail!"`), want: `the name "fail!"`},
		{rule: "tool-2", revision: live, how: saying(`"type":"object"`, `"type":"array"`), want: "the schema"},
		{rule: "tool-3", revision: live, how: saying(`"outputSchema":{"type":"object"`, `"outputSchema":{"type":"string"`), want: "the schema"},
		{rule: "tool-4", revision: modern, how: saying(`"exact":{`, `"exact":{"x-mcp-header":"a b",`), want: "a b"},
		{rule: "tool-5", revision: live, how: saying(`-32602`, `-32603`), want: "want error [-32602]"},
		{rule: "tool-6", revision: live, how: saying(`-32602`, `-32603`), want: "want error [-32602]"},
		{rule: "tool-7", revision: live, how: saying(`"isError":true`, `"isError":false`), want: "want isError"},
		{rule: "completion-1", revision: live, how: saying(`-32602`, `-32603`), want: "want error [-32602]"},
		{rule: "logging-1", revision: live, how: saying(`-32602`, `-32603`), want: "want error [-32602]"},
		{rule: "subscription-1", revision: modern, how: saying(`"seven"`, `7`), want: "want the acknowledgement"},
	}
}

func callFaults() []fault {
	var one sync.Mutex
	oneByOne := transport.Middleware(func(next transport.Next) transport.Next {
		return func(ctx context.Context, frame []byte, out transport.Outbound) error {
			one.Lock()
			defer one.Unlock()
			return next(ctx, frame, out)
		}
	})
	refusing := instead(`"requestId":1003`, func(_ context.Context, b *bent) error {
		b.queue = append(b.queue, `{"jsonrpc":"2.0","id":1003,"error":{"code":-32600,"message":"there is no such request"}}`)
		return nil
	})
	const progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":9}}`
	const message = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"psst"}}`
	const question = `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?","requestedSchema":{}}}`
	return []fault{
		{rule: "call-1", revision: live, how: saying(`"content"`, `"contents"`), want: "want content"},
		{rule: "call-1", revision: modern, how: saying(`"type":"text"`, `"type":"txt"`), want: "want content of text"},
		{rule: "call-2", revision: live, how: saying(`"structuredContent"`, `"structured"`), want: "want structuredContent"},
		{rule: "call-2", revision: live, how: saying(`"outputSchema":{"type":"object","properties":{"steps":{"type":"integer"`, `"outputSchema":{"type":"object","properties":{"steps":{"type":"string"`), want: "/steps"},
		{rule: "call-3", revision: live, how: saying(`"isError":true`, `"isError":false`), want: "want isError to be true"},
		{rule: "call-4", revision: live, how: oneByOne, want: "no answer"},
		{rule: "call-5", revision: live, how: saying(`-32600`, `-32603`), want: "want error [-32600]"},
		{rule: "progress-1", revision: live, how: saying(`"progressToken":7`, `"progressToken":"7"`), want: "want progress with token 7"},
		{rule: "progress-2", revision: live, how: adding(`"steps":3`, progress, false), want: "want no notifications/progress"},
		{rule: "progress-3", revision: modern, how: adding(`"steps":3`, progress, true), want: "want nothing before the answer"},
		{rule: "cancel-1", revision: live, how: losing("notifications/cancelled"), want: "want the handler's context to end"},
		{rule: "cancel-2", revision: live, how: refusing, want: "want a result"},
		{rule: "logging-2", revision: live, how: hearing(`"level":"error"`, `"level":"debug"`), want: "want messages"},
		{rule: "logging-3", revision: modern, how: hearing(`logLevel":"error"`, `logLevel":"debug"`), want: "want messages"},
		{rule: "logging-4", revision: modern, how: adding(`"steps":3`, message, false), want: "want messages"},
		{rule: "input-1", revision: live, how: saying(`"requestedSchema"`, `"schema"`), want: "want a request elicitation/create"},
		{rule: "input-2", revision: live, how: adding(`"isError":true`, question, false), want: "want no elicitation/create"},
		{rule: "input-3", revision: modern, how: saying(`"requiredCapabilities"`, `"required"`), want: "want data with requiredCapabilities"},
		{rule: "input-4", revision: modern, how: saying(`"input_required"`, `"complete"`), want: "want input_required"},
		{rule: "input-5", revision: modern, how: saying(`"Ann"`, `"Bob"`), want: `want the answer "Ann"`},
		{rule: "input-6", revision: modern, how: saying(`"error":`, `"result":`), want: "want error [-32602]"},
		{rule: "input-7", revision: modern, how: saying(`"error":`, `"result":`), want: "want error [-32602]"},
		{rule: "input-8", revision: modern, how: since(3, `"input_required"`, `"complete"`), want: "want input_required"},
		{rule: "input-9", revision: modern, how: saying(`"error":`, `"result":`), want: "want error [-32602]"},
	}
}

func notificationFaults() []fault {
	const news = `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"testkit://news"}}`
	spreading := wire(func(c transport.Conn) transport.Conn { // an update comes before the first change
		spread := false
		return &bent{Conn: c, read: func(frame string) []string {
			if spread || !strings.Contains(frame, "list_changed") {
				return []string{frame}
			}
			spread = true
			return []string{news}
		}}
	})
	return []fault{
		{rule: "notifications-1", revision: live, how: telling(`tools/list_changed`, `tools/changed`), want: "want notifications/tools/list_changed"},
		{rule: "notifications-2", revision: live, how: telling(`resources/updated`, `resources/changed`), want: "want notifications/resources/updated"},
		{rule: "notifications-3", revision: live, how: spreading, want: "want no notifications/resources/updated"},
		{rule: "subscription-2", revision: modern, how: since(3, `"seven"`, `"six"`), want: "want the subscriptionId"},
		{rule: "subscription-3", revision: modern, how: hearing(`"promptsListChanged":true`, `"promptsListChanged":true,"toolsListChanged":true`), want: "want nothing acknowledged"},
		{rule: "subscription-4", revision: modern, how: saying(`resources/updated`, `resources/changed`), want: "want notifications/resources/updated"},
		{rule: "subscription-5", revision: modern, how: losing("notifications/cancelled"), want: "free again"},
	}
}

func taskFaults() []fault {
	id := regexp.MustCompile(`"taskId":"([^"]+)"`)
	cancelling := wire(func(c transport.Conn) transport.Conn {
		task := ""
		b := instead("notifications/cancelled", func(ctx context.Context, b *bent) error {
			err := b.Conn.Write(ctx, []byte(`{"jsonrpc":"2.0","id":99,"method":"tasks/cancel","params":{"taskId":"`+task+`"}}`))
			if err == nil {
				_, err = b.Conn.Read(ctx) // its answer: it has happened
			}
			return err
		})(c).(*bent)
		b.read = func(frame string) []string {
			if m := id.FindStringSubmatch(frame); m != nil {
				task = m[1]
			}
			return []string{frame}
		}
		return b
	})
	return []fault{
		{rule: "task-1", revision: live, how: saying(`"createdAt"`, `"created"`), want: "want a task that is working"},
		{rule: "task-2", revision: live, how: saying(`related-task`, `related`), want: "related-task in _meta"},
		{rule: "task-3", revision: live, how: saying(`"status":"cancelled"`, `"status":"working"`), want: "want a task that is cancelled"},
		{rule: "task-4", revision: live, how: saying(`-32602`, `-32603`), want: "want error [-32602]"},
		{rule: "task-5", revision: live, how: saying(`-32602`, `-32603`), want: "want error [-32602]"},
		{rule: "task-6", revision: live, how: cancelling, want: "want a task that is completed"},
		{rule: "task-7", revision: live, how: saying(`-32601`, `-32603`), want: "want error [-32601]"},
		{rule: "task-8", revision: live, how: saying(`"tasks":[`, `"all":[`), want: "in the list"},
		{rule: "task-11", revision: modern, how: saying(`"resultType":"task"`, `"resultType":"complete"`), want: `want resultType "task"`},
		{rule: "task-12", revision: modern, how: saying(`-32021`, `-32603`), want: "want error [-32021]"},
		{rule: "task-13", revision: modern, how: saying(`-32021`, `-32603`), want: "want error [-32021]"},
		{rule: "task-14", revision: modern, how: saying(`-32602`, `-32603`), want: "want error [-32602]"},
		{rule: "task-15", revision: modern, how: losing("tasks/cancel"), want: "no answer"},
		{rule: "task-16", revision: modern, how: saying(`"inputRequests"`, `"requests"`), want: "want inputRequests"},
	}
}

func webFaults() []fault {
	return []fault{
		{rule: "http-1", revision: live, how: status(0, 0, "Content-Type", "text/plain"), want: "want a response"},
		{rule: "http-2", revision: modern, how: status(202, 200, "", ""), want: "want status 202"},
		{rule: "http-3", revision: modern, how: status(403, 200, "", ""), want: "want status 403"},
		{rule: "http-4", revision: live, how: roundTrips(oneSession), want: "want another id"},
		{rule: "http-5", revision: live, how: status(400, 200, "", ""), want: "want status 400"},
		{rule: "http-6", revision: live, how: status(404, 200, "", ""), want: "want status 404"},
		{rule: "http-7", revision: live, how: status(400, 200, "", ""), want: "want status 400"},
		{rule: "http-8", revision: modern, how: status(400, 200, "", ""), want: "want status 400"},
		{rule: "http-9", revision: modern, how: saying(`-32020`, `-32600`), want: "want error [-32020]"},
		{rule: "http-10", revision: modern, how: status(404, 200, "", ""), want: "want status 404"},
		{rule: "http-11", revision: modern, how: status(0, 0, "Mcp-Session-Id", "x"), want: "want no session id"},
		{rule: "http-12", revision: modern, how: status(400, 200, "", ""), want: "want status 400"},
		{rule: "http-13", revision: modern, how: status(400, 200, "", ""), want: "want status 400"},
		{rule: "http-14", revision: modern, how: status(400, 200, "", ""), want: "want status 400"},
		{rule: "http-15", revision: modern, how: saying(`"progressToken":7`, `"progressToken":8`), want: "want progress with token 7"},
		{rule: "http-16", revision: modern, how: roundTrips(staying), want: "want the handler's context to end"},
	}
}

// TestConformanceFindsFaults: each rule is broken on purpose, and then kept.
func TestConformanceFindsFaults(t *testing.T) {
	t.Parallel()
	faults := slices.Concat(baseFaults(), callFaults(), notificationFaults(), taskFaults(), webFaults())
	for _, number := range testkit.Rules() {
		if !slices.ContainsFunc(faults, func(f fault) bool { return f.rule == number }) {
			t.Errorf("nothing shows that rule %s can be broken", number)
		}
	}
	for _, f := range faults {
		t.Run(f.rule, func(t *testing.T) {
			t.Parallel()
			app := func() *framework.App {
				if f.empty {
					return framework.New("empty", "1")
				}
				return newHandles().app()
			}
			broken, way := app(), testkit.Way{}
			switch how := f.how.(type) {
			case transport.Middleware:
				broken.UseFrames(how)
			case wire:
				way.Bend = how
			case roundTrips:
				way.Spoil = how
			default:
				t.Fatalf("%T", how)
			}
			got := testkit.Broken(t, broken, f.revision, f.rule, time.Second, way)
			if !strings.Contains(got, f.want) || !strings.Contains(got, "sent: ") || !strings.Contains(got, "got:  ") {
				t.Errorf("%q, want %q", got, f.want)
			}
			if got := testkit.Broken(t, app(), f.revision, f.rule, time.Minute, testkit.Way{}); got != "" {
				t.Errorf("the rule is not broken, and yet: %s", got)
			}
		})
	}
}

// outgoing changes what the server says.
func outgoing(fn func(frame string) []string) transport.Middleware {
	return func(next transport.Next) transport.Next {
		return func(ctx context.Context, frame []byte, out transport.Outbound) error {
			return next(ctx, frame, transport.OutboundFunc(func(ctx context.Context, frame transport.Frame) error {
				for _, f := range fn(string(frame.JSON)) {
					if err := out.Send(ctx, transport.Frame{JSON: []byte(f), Final: frame.Final, Status: frame.Status}); err != nil {
						return err
					}
				}
				return nil
			}))
		}
	}
}

func saying(old, now string) transport.Middleware { return since(1, old, now) }

// since changes the nth frame of the server and those after it.
func since(n int32, old, now string) transport.Middleware {
	var sent atomic.Int32
	return outgoing(func(frame string) []string {
		if sent.Add(1) >= n {
			frame = strings.ReplaceAll(frame, old, now)
		}
		return []string{frame}
	})
}

// bent is a connection whose frames are changed.
type bent struct {
	transport.Conn
	write func(ctx context.Context, b *bent, frame string) error // nil: as they are
	read  func(frame string) []string                            // likewise
	queue []string                                               // what is to be read next
}

func (b *bent) Write(ctx context.Context, frame []byte) error {
	if b.write != nil {
		return b.write(ctx, b, string(frame))
	}
	return b.Conn.Write(ctx, frame)
}

func (b *bent) Read(ctx context.Context) ([]byte, error) {
	for len(b.queue) == 0 {
		frame, err := b.Conn.Read(ctx)
		if err != nil {
			return nil, err
		}
		b.queue = []string{string(frame)}
		if b.read != nil {
			b.queue = b.read(string(frame))
		}
	}
	next := b.queue[0]
	b.queue = b.queue[1:]
	return []byte(next), nil
}

// hearing changes what the server hears.
func hearing(old, now string) wire {
	return func(c transport.Conn) transport.Conn {
		return &bent{Conn: c, write: func(ctx context.Context, b *bent, frame string) error {
			return b.Conn.Write(ctx, []byte(strings.ReplaceAll(frame, old, now)))
		}}
	}
}

// instead keeps frames from the server, for which something else is done.
func instead(of string, what func(ctx context.Context, b *bent) error) wire {
	return func(c transport.Conn) transport.Conn {
		return &bent{Conn: c, write: func(ctx context.Context, b *bent, frame string) error {
			if strings.Contains(frame, of) {
				return what(ctx, b)
			}
			return b.Conn.Write(ctx, []byte(frame))
		}}
	}
}

func losing(what string) wire {
	return instead(what, func(context.Context, *bent) error { return nil })
}

// telling changes what the server says, also unasked.
func telling(old, now string) wire {
	return func(c transport.Conn) transport.Conn {
		return &bent{Conn: c, read: func(frame string) []string { return []string{strings.ReplaceAll(frame, old, now)} }}
	}
}

// adding puts a frame before those that have a text, or after them.
func adding(beside, more string, after bool) wire {
	return func(c transport.Conn) transport.Conn {
		return &bent{Conn: c, read: func(frame string) []string {
			switch {
			case !strings.Contains(frame, beside):
				return []string{frame}
			case after:
				return []string{frame, more}
			}
			return []string{more, frame}
		}}
	}
}

// viaFunc is a http.RoundTripper.
type viaFunc func(*http.Request) (*http.Response, error)

func (fn viaFunc) RoundTrip(r *http.Request) (*http.Response, error) { return fn(r) }

// status changes one, or sets a header.
func status(old, now int, header, value string) roundTrips {
	return func(next http.RoundTripper) http.RoundTripper {
		return viaFunc(func(r *http.Request) (*http.Response, error) {
			res, err := next.RoundTrip(r)
			if err == nil && header != "" {
				res.Header.Set(header, value)
			}
			if err == nil && res.StatusCode == old {
				res.StatusCode = now
			}
			return res, err
		})
	}
}

// oneSession has the same id for all.
func oneSession(next http.RoundTripper) http.RoundTripper {
	const header = "Mcp-Session-Id"
	own := ""
	return viaFunc(func(r *http.Request) (*http.Response, error) {
		r = r.Clone(r.Context())
		if r.Header.Get(header) != "" {
			r.Header.Set(header, own)
		}
		res, err := next.RoundTrip(r)
		if err == nil && res.Header.Get(header) != "" {
			own = res.Header.Get(header)
			res.Header.Set(header, "the-one")
		}
		return res, err
	})
}

// staying does not tell the server that the client has left.
func staying(next http.RoundTripper) http.RoundTripper {
	return viaFunc(func(r *http.Request) (*http.Response, error) {
		left := make(chan error, 1)
		var res *http.Response
		go func() {
			var err error
			if res, err = next.RoundTrip(r.Clone(context.WithoutCancel(r.Context()))); err == nil && r.Context().Err() != nil { //nolint:bodyclose // or it is handed on
				err = res.Body.Close()
			}
			left <- err
		}()
		select {
		case err := <-left:
			return res, err
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	})
}
