package dialect

// The traits are the properties of a dialect that other packages may read. Each trait is a method
// that is named for its meaning. The method's comment names the section of the specification.

// Handshake reports whether a session starts with initialize, and whether ping exists. Otherwise
// every request describes its client (2026-07-28 basic/versioning).
func (d *Dialect) Handshake() bool { return sessions.has(d) }

// ServerRequests reports whether a server may send requests on the wire (2024-11-05 to 2025-11-25;
// forbidden by 2026-07-28 basic/transports/stdio and streamable-http).
func (d *Dialect) ServerRequests() bool { return sessions.has(d) }

// Batches reports whether a frame may be a JSON-RPC batch (2025-03-26 basic; removed by
// 2025-06-18).
func (d *Dialect) Batches() bool { return batches.has(d) }

// ResultType reports whether results carry a resultType (2026-07-28 basic, "Result").
func (d *Dialect) ResultType() bool { return resultType.has(d) }

// ArgumentErrorsAreResults reports whether arguments that do not match a tool's schema cause an
// isError result, which the model can read. On older revisions they cause the JSON-RPC error -32602
// (2025-11-25 server/tools "Error Handling").
func (d *Dialect) ArgumentErrorsAreResults() bool { return argumentResults.has(d) }

// NullErrorID reports whether the error for a message without readable id has "id":null, because
// the schema requires the member. On later revisions the member is left out (2025-11-25 schema,
// JSONRPCErrorResponse).
func (d *Dialect) NullErrorID() bool { return nullErrorID.has(d) }

// ListenStream reports whether notifications of changes are sent only on streams opened by
// subscriptions/listen. On older revisions they are sent to the session without a request
// (2026-07-28 basic/patterns/subscriptions).
func (d *Dialect) ListenStream() bool { return sessionless.has(d) }

// LogLevelPerRequest reports whether each request names the log level that it wants. Requests
// without a level then get no log messages. On older revisions logging/setLevel sets the level of
// the session (2026-07-28 server/utilities/logging).
func (d *Dialect) LogLevelPerRequest() bool { return sessionless.has(d) }

// StructuredContent reports whether tools have output schemas and results of tools have structured
// content (2025-06-18 server/tools "Structured Content").
func (d *Dialect) StructuredContent() bool { return structuredContent.has(d) }

// Elicits reports whether the revision has elicitation by form (2025-06-18 client/elicitation).
func (d *Dialect) Elicits() bool { return elicits.has(d) }

// ElicitsURL reports whether the revision has URL elicitation (2025-11-25 client/elicitation).
func (d *Dialect) ElicitsURL() bool { return elicitModes.has(d) }

// ElicitationIDs reports whether a URL elicitation has an elicitationId. If so,
// notifications/elicitation/complete refers to it, and a request may be refused with -32042
// (2025-11-25 client/elicitation; removed by 2026-07-28).
func (d *Dialect) ElicitationIDs() bool { return elicitationIDs.has(d) }

// SamplesWithTools reports whether a sampling request may offer tools (2025-11-25 client/sampling).
func (d *Dialect) SamplesWithTools() bool { return samplesWithTools.has(d) }

// InputRounds reports whether a server asks the client by answering a request with input_required.
// The client then repeats the request with its answers (2026-07-28 basic/patterns/mrtr).
func (d *Dialect) InputRounds() bool { return sessionless.has(d) }

// CoreTasks reports whether the revision has the tasks of 2025-11-25 basic/utilities/tasks. The
// requestor asks for a task, and both sides serve tasks. tasks/result waits for the result, a
// result with isError means failed, and messages of a task carry related-task.
func (d *Dialect) CoreTasks() bool { return coreTasks.has(d) }

// TaskExtension reports whether the revision has the tasks of the extension
// io.modelcontextprotocol/tasks. The server decides whether a call becomes a task, tasks/update
// sends answers, and a result with isError means completed (2026-07-28, SEP-2663).
func (d *Dialect) TaskExtension() bool { return sessionless.has(d) }

// VersionHeader reports whether HTTP requests carry MCP-Protocol-Version (2025-06-18
// basic/transports "Protocol Version Header").
func (d *Dialect) VersionHeader() bool { return versionHeader.has(d) }

// MirrorHeaders reports whether HTTP requests repeat parts of the body in Mcp-Method, Mcp-Name and
// Mcp-Param-*, and servers compare them (2026-07-28 basic/transports/streamable-http).
func (d *Dialect) MirrorHeaders() bool { return sessionless.has(d) }

// Resumable reports whether a client may resume a broken SSE stream with Last-Event-ID (2025-03-26
// basic/transports "Resumability and Redelivery"; removed by 2026-07-28).
func (d *Dialect) Resumable() bool { return resumable.has(d) }

// PollStreams reports whether a server may close an SSE connection early, after an event that
// prepares the client to resume (2025-11-25 basic/transports, SEP-1699).
func (d *Dialect) PollStreams() bool { return pollStreams.has(d) }

// StatusByCode reports whether the HTTP status of an error follows its JSON-RPC code, with 404 for
// an unknown method. On older revisions errors are sent with status 200, and 404 means that the
// session does not exist (2026-07-28 basic/transports/streamable-http).
func (d *Dialect) StatusByCode() bool { return sessionless.has(d) }

// CancelByClose reports whether a client cancels a request by closing its HTTP stream. On older
// revisions a disconnection does not cancel (2026-07-28 basic/transports/streamable-http
// "Cancellation").
func (d *Dialect) CancelByClose() bool { return sessionless.has(d) }
