// Package framework builds Model Context Protocol servers from plain Go functions.
// One server serves clients of every published revision of the protocol, 2024-11-05 to
// 2026-07-28, at the same time.
//
//	type SearchIn struct {
//		Query string `json:"query" doc:"words to look for" validate:"min=2"`
//		Limit int    `json:"limit,omitempty" default:"10" validate:"min=1,max=100"`
//	}
//
//	app := framework.New("shop", "1.4.0").Add(
//		framework.Tool("search", shop.Search, framework.ReadOnly()),
//		framework.ResourceTemplate("orders://{user}/{year}", shop.Orders),
//		framework.Prompt("review", Review),
//	)
//	server, err := app.Build()           // reports all faults at once, with file and line
//	err = server.Serve(ctx, stdio.New()) // or serve.Main(app)
//
// An [App] collects components, middleware and options. [App.Build] inspects the Go types
// once, derives a JSON Schema from each, and returns a [Server]. Each call decodes its
// arguments, fills in defaults, validates, and encodes the result. Handlers are plain
// functions. Inside a handler, functions that take its context give access to the
// protocol: to report progress, log, ask the user, call the model, or identify the caller.
// If a feature is not available, they do nothing or return [ErrUnsupported].
//
// # Apps
//
//   - create and build: [New], [App.Add], [App.Build], [BuildError], [Fault]
//   - how clients show the server: [WithTitle], [WithDescription], [WithInstructions],
//     [WithIcons], [WithWebsiteURL], [WithExtension]
//   - run time: [WithLogger], [WithStore], [WithAuth], [WithPageSize],
//     [WithShutdownGrace]; [App.OnStart], [App.OnStop], [App.UseStore]
//   - development and CI: [WithErrorDetail], [WithStrict], [WithReplayCheck]
//   - JSON-RPC methods of your own: [Method]
//
// # Tools
//
//   - register: [Tool] for a typed function; [Func] for any function, with [Params] to name
//     its parameters; [Methods] for all methods of a value except those named by [Exclude];
//     [Group] for a common prefix and common options
//   - describe: [Describe], [Title], [Icons], [Meta] for every kind of component;
//     [ReadOnly], [Destructive], [Idempotent], [OpenWorld] as hints to clients
//   - input: the struct tags json, doc, title, validate, default, secret, header and
//     jsonschema; [OneOf] for interfaces, [Validation] for your own rules, [InputSchema]
//     for a hand-written schema, [AllowUnknown], [WithoutRepair]
//   - output: any JSON type, [Image], [Audio], [Link], [Embedded], [Content], [Text],
//     [Stream] for blocks one by one, [Rich] for a value with content blocks and _meta,
//     [OutputSchema]
//   - errors: [UserErrorf] and [InvalidArgumentf] are shown to the model, [Because] adds
//     a cause for the log; any other error is logged and reported without details
//     ([WithErrorMapper] translates it)
//   - access and limits, for every kind of component: [Scopes], [Hidden], [Timeout]
//
// # Resources
//
//   - register: [Resource] for one URI, [ResourceTemplate] for a family of URIs
//   - describe: [Name], [MIME], [Size], [Annotate]; [Cache] lets clients keep what they read
//   - complete template variables as the user types: [Complete]
//   - report changes: [Server.ResourceUpdated]; [MaySubscribe] decides who may subscribe
//   - a URI that does not exist: [NotFoundf]
//
// # Prompts
//
//   - register: [Prompt], which returns [Messages]; [Arguments] for arguments known only
//     at run time; [Complete] for their values
//   - messages: [User], [Userf], [Assistant], [UserBlock]
//
// # Asking
//
// A handler can ask in the middle of plain Go. Up to 2025-11-25 the question is a request
// to the client, and the handler waits for the answer. On 2026-07-28 the call ends with the
// question; the client repeats the call with the answer, and the handler runs again from
// the top, with [Once] around effects that must not be repeated.
//
//   - the user: [Elicit] for a form, [ElicitAnswer] for the answer as data, [ElicitURL] for
//     a web page, [URLRequired] to end the call with one; options [Prefill], [Choices],
//     [Form], [Attempts]; errors [ErrDeclined], [ErrCancelled], [ErrUnsupported]
//   - the model: [Generate], [GenerateAs], [WithTools] for a tool loop, [MaxTokens],
//     [System] and others; [WithModel] sets a model of the app's own
//   - the client's directories: [Roots]; [App.OnRootsChanged]
//   - several questions at once: [Gather], [Gather2], [Gather3] with [Ask], [AskModel],
//     [AskRoots]
//   - effects: [Once], [AtMostOnce], [IdempotencyKey]; [Key] names a question
//   - configuration: [WithAskTimeout], [WithStateSecrets], [WithStateTTL]
//
// # Tasks
//
//   - let a tool outlive its request: [Task] with [TaskOptional] or [TaskRequired];
//     options [TTL], [PollInterval], [Retry], [TaskWhen], [ImmediateResponse],
//     [AfterDetach]; [Detach]
//   - run tasks on several processes: [WithStore], [WithTaskWorkers],
//     [WithTasksPerCaller], [Server.Worker]
//
// # Inside a call
//
//   - who calls: [Caller], and its [Principal]
//   - progress: [Progress], [Track]
//   - logs: [Log] and [SlogHandler] write to the app's log and, if the client asked for
//     log messages, to the client; [Notify] writes to the client only
//   - the server: [ServerFrom]
//   - long calls over HTTP: [ReleaseStream] lets the client disconnect and poll
//
// # Middleware
//
//   - write: [Middleware], or [OnToolCall], [OnRead], [OnPrompt], [OnList] with typed
//     results; [OncePerCall] for steps that must not run again in later rounds
//   - attach: [App.Use], [With], [App.UseFrames] for raw frames
//   - order: a [Phase] each, [PhaseTrace] outermost; [Server.Inspect] shows the chain
//   - inspect a call: [Call], [Result], [OutcomeOf], [CallerLite]
//   - keep secrets out of your own logs: [RedactArguments], [RedactName], [RedactText],
//     [IsSecretName]
//
// Package middleware has ready-made ones, package middleware/auth an OAuth 2.1 resource
// server.
//
// # Run time
//
//   - serve: [Server.Serve], [Server.Shutdown]; package serve is a complete main function,
//     package mcpfx an fx module
//   - change what is served: [Server.Add], [Server.AddOrReplace], [Server.Replace],
//     [Server.Remove]; clients are notified
//   - call a tool from Go: [ToolOf.Call]; encode as tools do: [EncodeJSON], [DecodeJSON],
//     [DecodeResult]
//
// # Guarantees
//
// Registration never panics: Build returns one [*BuildError] with all faults. Panics in
// handlers are recovered and fail only their own call. Errors that are not meant for
// clients stay in the log.
//
// A Server is safe for concurrent use; an App is not. Handlers run concurrently and must
// guard what they share.
//
// A handler's context ends when its client cancels the call, when the client disconnects,
// or when the server stops. Over Streamable HTTP, on the revisions with sessions, a call
// continues after a disconnect, because its client may come back for the answer. A result returned
// after the client has cancelled or disconnected is not sent. When the server stops, and when the
// component's [Timeout] expires, a result is still the answer: return ctx.Err() if it is not complete.
//
// A handler owns the byte slices that it receives, and must not modify those that it has
// returned.
//
// The package contains no transports (see package transport and the packages below it), no
// ready-made middleware, and no command line (see package serve).
package framework
