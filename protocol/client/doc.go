// Package client speaks every revision to any MCP server.
//
//	c, err := client.Connect(ctx, client.Command(exec.Command("weather-server")), client.Name("demo", "1.0"))
//	if err != nil { ... }
//	defer c.Close()
//	for tool, err := range c.Tools(ctx) { ... }
//	result, err := c.CallTool(ctx, "forecast", map[string]any{"city": "Kyoto"})
//
// [Connect] opens with server/discover and falls back to the initialize handshake if the
// server does not know it (2026-07-28 basic/versioning, "Backward Compatibility"). After
// that the caller need not care about the revision: the same methods work on all of them,
// each in the revision's own way (a subscription is a listen stream or a
// resources/subscribe, the log level travels with each request or is set once).
//
// Over [HTTP] the probe is a POST, too; a server that refuses it, or answers it oddly, gets
// an initialize, and one that refuses that as well (400, 404, 405) is tried as HTTP+SSE of
// 2024-11-05. A failing network, 5xx and 401 end Connect, since they say nothing about the
// revision. What a proxy may want to know about a request is repeated in headers, the
// annotated arguments of tools as soon as [Client.Tools] has seen them; a call that the
// server refuses because such headers are missing is repeated once, after tools/list.
//
// What a server asks while it works on a call (the user, by a form or a page; the model; or
// for directories) is answered by the handlers of [OnElicit], [OnSample] and [OnRoots],
// which are the same on all revisions. On handshake revisions these are requests of the
// server, answered while the call is in flight. On 2026-07-28 the call ends with the
// questions, and the client sends it anew with the answers, a new id, and the server's
// state as it came (basic/patterns/mrtr); the caller of [Client.CallTool],
// [Client.ReadResource] or [Client.GetPrompt] sees only the last result, and progress that
// goes on. Such rounds are bounded by [MaxRounds], and paced if a server only wants the
// call again, from 50 ms up to 2 s. The client declares what it has handlers for; if more
// is asked, [ErrInputRequired] names it, before any handler has run. [Approve] lets one
// function look at all questions first. Accepted forms get the defaults of their schema,
// and are checked against it before anything is sent; [ParseForm] reads a form for programs
// that show it to a user.
//
// A call that may take long can become a task, in both designs of tasks: the handle of
// [Client.CallTask] waits, answers what the task asks, and cancels; [Client.Task] finds a
// task again by its id. A server of 2025-11-25 may in turn make tasks of its questions: it
// comes back for the answers of the same handlers, so that a person may take an hour for
// one ([NoTasks] turns that off). Such tasks are in memory, end with the client, and are
// bounded: 32 running and 256 kept, for 24 hours at most.
//
//	t, err := c.CallTask(ctx, "render", args, client.TaskTTL(time.Hour))
//	result, err := t.Wait(ctx)
//
// Guarantees. A Client is safe for concurrent use. Notifications are handed to
// [OnNotification] and [OnProgress] one after another, in the order of arrival, by one
// goroutine; when a call returns, the handlers of all notifications that arrived before its
// answer have run. The queue in front of them is bounded: when 1024 notifications wait, the
// client stops reading until the handlers have caught up. The handlers of questions run
// concurrently, each question in a goroutine of its own, unless [OneByOne] says otherwise.
// A handler of notifications may itself call the client, and should pass on the context it
// got; with another context that call is held up for a second before it gives up the order.
// If the queue is full meanwhile, such a call cannot be answered before the handler
// returns: with the handler's context it ends with an error that says so, with another one
// it hangs until then.
//
// A call ends with its context, open questions included: the server is told by
// notifications/cancelled, over HTTP of 2026-07-28 by the end of the response, and a late
// answer is dropped. When the connection is lost, every call ends with an error that wraps
// [io.ErrUnexpectedEOF]; after Close, with [ErrClosed]. Over HTTP there is no connection
// to lose: a stream that breaks before the answer, and cannot be resumed, ends its call
// with that error, a refused request ends with an [*HTTPError], and one without a response
// with the *url.Error of net/http; other calls go on. A call that may have reached the
// server is never repeated automatically. A server that says that it has lost a call
// ([protocol.CodeInterrupted]) ends it with that error, which wraps io.ErrUnexpectedEOF,
// too. Errors of the server are a *protocol.Error or *protocol.Fault, for errors.As;
// [protocol.RetryAfter] returns how long to wait before another attempt.
//
// A Client owns its goroutines; Close ends them and waits for them. JSON that it returns
// (schemas, structured content, notification parameters) belongs to the caller.
//
// Answers are for one call only: nothing of a round is kept for another call.
//
// Package protocol/client/oauth logs in where a server wants that.
//
// Not here: visiting the pages that a server names,
// repeating a call after HTTPError.RetryAfter (which only streams that are opened again
// heed), reconnection of other carriers, caching, validation against schemas other than
// those of forms.
package client
