package middleware

// Names from the semantic conventions for MCP. They are defined here because OpenTelemetry's
// semconv packages had them only from v1.39 to v1.41.
const (
	scope = "github.com/kagami-mcp/kagami/middleware"

	attrMethod    = "mcp.method.name"
	attrRevision  = "mcp.protocol.version"
	attrSession   = "mcp.session.id"
	attrResource  = "mcp.resource.uri"
	attrRequest   = "jsonrpc.request.id"
	attrTool      = "gen_ai.tool.name"
	attrPrompt    = "gen_ai.prompt.name"
	attrOperation = "gen_ai.operation.name"
	attrError     = "error.type"
	attrStatus    = "rpc.response.status_code"
	attrAddress   = "client.address"
	attrPort      = "client.port"
	attrUser      = "enduser.id"

	operationTool = "execute_tool"

	// Attributes of this package.
	attrCall    = "kagami.call.id"
	attrRound   = "kagami.call.round"
	attrTask    = "kagami.task.id"
	attrOutcome = "kagami.call.outcome"

	metricDuration = "mcp.server.operation.duration"
)
