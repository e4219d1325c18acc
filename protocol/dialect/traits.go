package dialect

// traits are what shared code may ask a dialect. Each is read in one place and
// is named for what it means; a comment on the method names the specification.
type traits struct {
	handshake                bool
	serverRequests           bool
	batches                  bool
	argumentErrorsAreResults bool
	nullErrorID              bool
	listenStream             bool
	logLevelPerRequest       bool
	structuredContent        bool
	elicits                  bool
	elicitsURL               bool
	elicitationIDs           bool
	samplesWithTools         bool
	inputRounds              bool
	coreTasks                bool
	taskExtension            bool

	versionHeader bool
	mirrorHeaders bool
	resumable     bool
	pollStreams   bool
	statusByCode  bool
	cancelByClose bool
}

// Handshake says that a session opens with initialize, and that ping exists;
// otherwise every request says for itself what the client is (2026-07-28
// basic/versioning).
func (d *Dialect) Handshake() bool { return d.handshake }

// ServerRequests says that a server may send requests on the wire (2024-11-05
// to 2025-11-25; forbidden by 2026-07-28 basic/transports/stdio and
// streamable-http).
func (d *Dialect) ServerRequests() bool { return d.serverRequests }

// Batches says that a frame may be a JSON-RPC batch (2025-03-26 basic; removed
// by 2025-06-18).
func (d *Dialect) Batches() bool { return d.batches }

// ResultType says that results carry a resultType (2026-07-28 basic, "Result").
func (d *Dialect) ResultType() bool { return d.resultType }

// ArgumentErrorsAreResults says that arguments which do not fit a tool's schema
// make an isError result, for the model to read; before, they are a
// JSON-RPC error -32602 (2025-11-25 server/tools "Error Handling").
func (d *Dialect) ArgumentErrorsAreResults() bool { return d.argumentErrorsAreResults }

// NullErrorID says that the error for a message without readable id carries
// "id":null, because the schema requires the member; later it is left out
// (2025-11-25 schema, JSONRPCErrorResponse).
func (d *Dialect) NullErrorID() bool { return d.nullErrorID }

// ListenStream says that changes are announced only on streams opened by
// subscriptions/listen; before, they go to the session unasked (2026-07-28
// basic/patterns/subscriptions).
func (d *Dialect) ListenStream() bool { return d.listenStream }

// LogLevelPerRequest says that each request names the log level it wants, and
// none means silence; before, logging/setLevel sets the session's (2026-07-28
// server/utilities/logging).
func (d *Dialect) LogLevelPerRequest() bool { return d.logLevelPerRequest }

// StructuredContent says that tools have output schemas and their results
// structured content (2025-06-18 server/tools "Structured Content").
func (d *Dialect) StructuredContent() bool { return d.structuredContent }

// Elicits says that the revision has elicitation by form (2025-06-18 client/elicitation).
func (d *Dialect) Elicits() bool { return d.elicits }

// ElicitsURL says that the revision has elicitation by URL (2025-11-25 client/elicitation).
func (d *Dialect) ElicitsURL() bool { return d.elicitsURL }

// ElicitationIDs says that a URL question carries an elicitationId, that
// notifications/elicitation/complete refers to it, and that a request may be
// refused with -32042 (2025-11-25 client/elicitation; removed by 2026-07-28).
func (d *Dialect) ElicitationIDs() bool { return d.elicitationIDs }

// SamplesWithTools says that a sampling request may offer tools (2025-11-25
// client/sampling).
func (d *Dialect) SamplesWithTools() bool { return d.samplesWithTools }

// InputRounds says that a request is answered with input_required where the
// client must be asked, and repeated with the answers (2026-07-28
// basic/patterns/mrtr).
func (d *Dialect) InputRounds() bool { return d.inputRounds }

// CoreTasks says that tasks are those of 2025-11-25 basic/utilities/tasks: the
// requestor asks for them, both sides serve them, tasks/result waits, a result
// with isError means failed, and what belongs to one carries related-task.
func (d *Dialect) CoreTasks() bool { return d.coreTasks }

// TaskExtension says that tasks are those of the extension
// io.modelcontextprotocol/tasks: the server decides, tasks/update answers, and
// a result with isError is completed (2026-07-28, SEP-2663).
func (d *Dialect) TaskExtension() bool { return d.taskExtension }

// VersionHeader says that HTTP requests carry MCP-Protocol-Version (2025-06-18
// basic/transports "Protocol Version Header").
func (d *Dialect) VersionHeader() bool { return d.versionHeader }

// MirrorHeaders says that HTTP requests repeat parts of the body in Mcp-Method,
// Mcp-Name and Mcp-Param-*, and that servers compare them (2026-07-28
// basic/transports/streamable-http).
func (d *Dialect) MirrorHeaders() bool { return d.mirrorHeaders }

// Resumable says that a broken SSE stream may be resumed with Last-Event-ID
// (2025-03-26 basic/transports "Resumability and Redelivery"; removed by 2026-07-28).
func (d *Dialect) Resumable() bool { return d.resumable }

// PollStreams says that a server may close an SSE connection early, after an
// event that primes the client to resume (2025-11-25 basic/transports, SEP-1699).
func (d *Dialect) PollStreams() bool { return d.pollStreams }

// StatusByCode says that the HTTP status of an error follows its JSON-RPC code,
// 404 being an unknown method; before, errors travel with 200 and 404 is a dead
// session (2026-07-28 basic/transports/streamable-http).
func (d *Dialect) StatusByCode() bool { return d.statusByCode }

// CancelByClose says that a client cancels a request by closing its HTTP stream;
// before, disconnection is no cancellation (2026-07-28
// basic/transports/streamable-http "Cancellation").
func (d *Dialect) CancelByClose() bool { return d.cancelByClose }
