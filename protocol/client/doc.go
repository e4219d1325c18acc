// Package client is an MCP client for every revision of the protocol and any server.
//
//	c, err := client.Connect(ctx, client.Command(exec.Command("weather-server")), client.Name("demo", "1.0"))
//	if err != nil { ... }
//	defer c.Close()
//	for tool, err := range c.Tools(ctx) { ... }
//	result, err := c.CallTool(ctx, "forecast", map[string]any{"city": "Kyoto"})
//
// # Connecting
//
// [Connect] first sends server/discover. If the server does not know that method, Connect falls
// back to the initialize handshake (2026-07-28 basic/versioning, "Backward Compatibility"). The
// same methods of [Client] then work on all revisions. For example, a subscription is a listen
// stream or a resources/subscribe, and the log level is sent with each request or set once.
//
// Over [HTTP], the first request is a POST of server/discover. If the server refuses it, or does
// not answer as the specification says, Connect posts initialize. If the server also refuses that
// with 400, 404 or 405, Connect tries HTTP+SSE of 2024-11-05. A network error, 401, or a status of
// 502 and above without a JSON-RPC error ends Connect, because it does not show what the server
// supports.
//
// Some parts of a request are repeated in header fields, for proxies. Annotated arguments of tools
// are repeated as soon as [Client.Tools] has read the declarations. If the server refuses a call
// because such header fields are missing, the client requests tools/list and sends the call once
// more.
//
// # Questions
//
// While a server works on a call, it can ask the user (by a form or a page), the model, or for
// directories. The handlers of [OnElicit], [OnSample] and [OnRoots] answer these questions, on all
// revisions. On handshake revisions, questions are requests of the server, answered while the call
// is in flight. On 2026-07-28, the call ends with the questions. The client then sends the call
// again with the answers, a new id, and the server's unchanged state (basic/patterns/mrtr).
//
// The caller of [Client.CallTool], [Client.ReadResource] or [Client.GetPrompt] gets only the last
// result; progress continues over all rounds. [MaxRounds] limits the number of rounds. If a server
// only wants the call again, the client waits between rounds, from 50 ms up to 2 s. Answers are
// used for one call only.
//
// The client declares the capabilities that it has handlers for. If a server of 2026-07-28 asks for
// more, the call ends with [ErrInputRequired] before any handler runs. With [Approve], one function
// checks all questions first. Accepted forms are completed with the defaults of their schema and
// checked against it before they are sent. [ParseForm] reads a form for programs that show it to a
// user.
//
// # Tasks
//
// A call that may take long can become a task, in both designs of tasks. The handle of
// [Client.CallTask] waits for the task, answers its questions, and cancels it. [Client.Task] finds
// a task by its id.
//
//	t, err := c.CallTask(ctx, "render", args, client.TaskTTL(time.Hour))
//	result, err := t.Wait(ctx)
//
// A server of 2025-11-25 can also make tasks of its questions. The same handlers answer them, and
// the server fetches the answers later, so that a person may take an hour for one. [NoTasks] turns
// this off. Such tasks are kept in memory and end with the client. At most 32 run and 256 are kept,
// for at most 24 hours.
//
// # Guarantees
//
// A Client is safe for concurrent use. It owns its goroutines; Close ends them and waits for them.
// JSON that it returns (schemas, structured content, notification parameters) belongs to the
// caller.
//
// One goroutine calls [OnNotification] and [OnProgress], in the order notifications
// arrive. When a call returns, the handlers have run for all notifications that arrived before its
// answer. At most 1024 notifications are queued. When the queue is full, the client stops reading
// until the handlers catch up. Handlers of questions run concurrently, each in a goroutine of its
// own, unless [OneByOne] is set.
//
// A handler of notifications may call the client, and should pass on the context that it got. With
// another context, the call may be delayed for a second, because the client cannot recognize that
// it comes from the handler. If the queue fills up, the answer cannot be read before the handler
// returns. A call with the handler's context then ends with an error that says so; a call with
// another context hangs.
//
// A call ends with its context, and so do its open questions. The client then sends
// notifications/cancelled or, over HTTP of 2026-07-28, closes the response; a late answer is
// dropped. After Close, calls end with [ErrClosed]. A call that may have reached the server is
// never repeated automatically.
//
// When the connection is lost, every call ends with an error that wraps [io.ErrUnexpectedEOF]. Over
// HTTP, except for HTTP+SSE, there is no connection to lose, and an error ends only one call. If a
// stream breaks before the answer and cannot be resumed, the error also wraps io.ErrUnexpectedEOF. A
// refused request ends with an [*HTTPError], and a request without a response with the *url.Error of
// net/http.
//
// Errors of the server are a *protocol.Error or *protocol.Fault, for errors.As.
// [protocol.RetryAfter] returns how long to wait before another attempt; an HTTPError without a
// JSON-RPC error has it in its field RetryAfter. If the server reports that it has lost a call
// ([protocol.CodeInterrupted]), the call ends with that error, which also wraps io.ErrUnexpectedEOF.
//
// # Limits
//
// Package protocol/client/oauth logs in to servers that require it.
//
// This package does not open pages that a server names, cache, or reconnect transports other than
// HTTP. It does not validate against schemas other than the schemas of forms. It does not repeat a call
// after HTTPError.RetryAfter; only streams that are opened again wait that long.
package client

// The rest of this file is for those who change the package.
//
// # Goroutines
//
// link.spawn starts all goroutines of a Client, and link.close waits for them:
//
//   - the reader (link.read), from Connect until the connection ends
//   - the dispatcher (dispatcher.run), which calls the handlers of notifications, from Connect
//     until the reader has ended and its queue is empty
//   - one for each question of the server (Client.reply, Client.answer), until its handler has
//     returned
//   - one for each subscription (keepStream, or the goroutine of openSession), until its context or
//     the connection ends
//   - short ones: a cancellation, the tasks/result of a Wait, a renewal of the session
//
// Over HTTP the connection has goroutines of its own, which httpConn.spawn starts and
// httpConn.Close waits for: one for each POST that must be answered, one for the stream of
// unsolicited messages, and one for the stream of HTTP+SSE. All other work happens in the
// goroutines of the callers.
//
// The reader must not wait for a caller, nor for a handler of a question: it alone reads the
// answers that both may be waiting for. It waits for the dispatcher only if 1024 notifications are
// queued. Calls of a running handler are then cancelled, because their answers cannot be read. Over
// HTTP the reader may also wait, with a time limit, for the POST of an answer that refuses a
// question.
//
// # Hand-overs
//
// A frame that Read returns belongs to the link. Messages, answers and notifications refer to its
// memory. A frame that is written stays with the caller: httpConn copies it, because its POST
// outlives Write.
//
// A waiter has one owner, the goroutine of its call. The goroutine that removes it from
// link.pending under link.mu sends its one answer, without blocking, because the channel has room
// for it. An answer carries the barrier of the notifications that arrived before it. The caller
// waits for that barrier (dispatcher.settle), not the reader.
//
// A question belongs to the goroutine that runs its handler. With OneByOne its place in the queue
// is taken by the reader, in the order of arrival, and given back by that goroutine.
//
// # Locks
//
// Each table has a mutex of its own, is used in short steps, and is released before any I/O, any
// callback and any wait. Two locks are taken together only in this order:
//
//   - watchTable.turn, and then, one at a time, all others: it is held during a request, and is the
//     only lock that is
//   - renewals.mu, workers.mu
//   - renewals.mu, httpConn.mu
//   - watchTable.mu, updates.mu
//
// A renewal of the session runs while other goroutines hold watchTable.turn: their subscribe
// request may be the one that waits for the renewal. It must therefore never take turn.
//
// # Panics and ends
//
// A panic of a handler is not recovered, and ends the program. A handler of a question that ends
// its goroutine (runtime.Goexit) is answered with an error. A handler of notifications must not do
// that: it would end the dispatcher, and calls would wait for their barriers until their contexts
// end.
//
// When the connection is lost, link.fail sets the error and ends all calls. Goroutines of questions
// end with link.life, which only Close ends. Close has this order: fail, stop the dispatcher, close
// the connection, end link.life, and wait for all goroutines. A second Close waits, too.
