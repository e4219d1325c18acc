package archtest_test

// rule says what the packages below a prefix may import of this module, and of
// others, besides the standard library. The longest matching prefix counts.
type rule struct {
	prefix   string   // of the directory
	internal []string // prefixes of directories of this module
	external []string // prefixes of import paths
}

// table is docs/architecture.md, "Who imports whom". Lower knows nothing of higher.
var table = []rule{
	{prefix: "protocol/jsontext"},
	{prefix: "protocol/jsonrpc", internal: []string{"protocol/jsontext"}},
	{prefix: "protocol", internal: []string{"protocol/jsonrpc"}},
	{prefix: "protocol/dialect", internal: []string{"protocol", "protocol/jsonrpc", "protocol/jsontext"}},
	{prefix: "protocol/eventlog"},
	{prefix: "protocol/claim"},
	{prefix: "protocol/session"},
	{prefix: "protocol/change"},
	{prefix: "protocol/lazyctx"},
	{prefix: "protocol/rounds"},
	{prefix: "protocol/task", internal: []string{"protocol"}},
	{prefix: "transport", internal: []string{"protocol/change", "protocol/eventlog", "protocol/session"}},
	{prefix: "transport/internal", internal: []string{"transport", "protocol/eventlog", "protocol/jsonrpc", "protocol/jsontext", "protocol/session"}},
	{prefix: "transport/stdio", internal: []string{"transport", "transport/internal", "protocol/jsonrpc", "protocol/jsontext"}, external: []string{"golang.org/x/sys"}},
	{prefix: "transport/inmem", internal: []string{"transport", "transport/internal", "protocol/jsonrpc"}},
	{prefix: "transport/internal/cluster", internal: []string{"protocol/change", "protocol/session"}},
	{prefix: "transport/internal/streamable", internal: []string{
		"transport", "transport/internal", "transport/internal/cluster", "protocol/dialect", "protocol/eventlog", "protocol/jsonrpc", "protocol/jsontext",
		"protocol/lazyctx", "protocol/session",
	}},
	{prefix: "transport/internal/legacysse", internal: []string{
		"transport", "transport/internal", "transport/internal/cluster", "transport/internal/streamable", "protocol/eventlog", "protocol/jsonrpc", "protocol/lazyctx", "protocol/session",
	}},
	{prefix: "transport/fiberhttp", internal: []string{
		"transport", "transport/internal", "transport/internal/httpserver", "transport/internal/streamable", "transport/internal/legacysse",
	}, external: []string{"github.com/gofiber/fiber/v2", "github.com/valyala/fasthttp"}},
	{prefix: "transport/nethttp", internal: []string{
		"transport", "transport/internal", "transport/internal/httpserver", "transport/internal/streamable", "transport/internal/legacysse",
	}},
	{prefix: "transport/internal/httpserver", internal: []string{"transport", "transport/internal", "transport/internal/streamable", "transport/internal/legacysse"}, external: []string{"golang.org/x/sys/windows"}},
	{prefix: "protocol/engine/internal/wait"},
	{prefix: "protocol/engine/internal/storeerror", internal: []string{"protocol/claim", "protocol/task"}},
	{prefix: "protocol/engine/internal/taskrecord", internal: []string{
		"protocol", "protocol/dialect", "protocol/jsonrpc", "protocol/jsontext", "protocol/rounds", "protocol/task", "transport",
	}},
	{prefix: "protocol/engine/internal/feed", internal: []string{
		"protocol/engine/internal/wait", "protocol", "protocol/dialect", "protocol/jsonrpc", "protocol/jsontext", "transport",
	}},
	{prefix: "protocol/engine/internal/replay", internal: []string{"protocol/rounds"}},
	{prefix: "protocol/engine/internal/roundstore", internal: []string{"protocol", "protocol/claim", "protocol/engine/internal/storeerror", "protocol/engine/internal/wait", "protocol/jsonrpc", "protocol/jsontext", "protocol/rounds"}},
	{prefix: "protocol/engine/internal/nodebus", internal: []string{"protocol/change", "protocol/engine/internal/wait"}},
	{prefix: "protocol/engine/internal/header", internal: []string{"protocol", "protocol/dialect", "protocol/jsontext", "transport"}},
	{prefix: "protocol/engine/internal/clientprofile", internal: []string{"protocol", "protocol/dialect", "protocol/jsontext"}},
	{prefix: "protocol/engine/internal/framebuf", internal: []string{"protocol", "protocol/jsontext"}},
	{prefix: "protocol/engine/internal/taskwatch", internal: []string{"protocol/task"}},
	{prefix: "protocol/engine", internal: []string{
		"protocol/engine/internal/clientprofile", "protocol/engine/internal/feed", "protocol/engine/internal/framebuf", "protocol/engine/internal/header", "protocol/engine/internal/nodebus", "protocol/engine/internal/replay", "protocol/engine/internal/roundstore", "protocol/engine/internal/storeerror", "protocol/engine/internal/taskrecord", "protocol/engine/internal/taskwatch", "protocol/engine/internal/wait",
		"protocol", "protocol/change", "protocol/claim", "protocol/dialect", "protocol/jsonrpc", "protocol/jsontext", "protocol/lazyctx", "protocol/rounds", "protocol/task",
		"transport",
	}},
	{prefix: "protocol/client", internal: []string{
		"protocol", "protocol/dialect", "protocol/jsonrpc", "protocol/jsontext", "protocol/task",
		"transport", "transport/stdio", "transport/inmem",
	}},
	{prefix: "protocol/client/oauth", internal: []string{"protocol/client"}, external: []string{"github.com/golang-jwt/jwt/v5", "github.com/mattn/go-isatty", "golang.org/x/sys/windows"}},
	{prefix: "framework/internal/decimal"},
	{prefix: "framework/internal/rawschema", internal: []string{"framework/internal/decimal", "protocol/jsontext"}},
	{prefix: "framework/internal/binding/internal/bindingtest"}, // for tests
	{prefix: "framework/internal/binding/gotype"},
	{prefix: "framework/internal/binding/jsonedit", internal: []string{"framework/internal/decimal", "protocol/jsontext"}},
	{prefix: "framework/internal/binding/report", internal: []string{"protocol/jsontext"}},
	{prefix: "framework/internal/binding/spelling", internal: []string{"framework/internal/binding/report"}},
	{prefix: "framework/internal/binding/schema", internal: []string{"framework/internal/binding/jsonedit", "framework/internal/binding/report", "framework/internal/binding/spelling", "framework/internal/decimal", "framework/internal/rawschema", "protocol/jsontext"}, external: []string{"github.com/invopop/jsonschema"}},
	{prefix: "framework/internal/binding/rules", internal: []string{"framework/internal/binding/internal/bindingtest", "framework/internal/binding/gotype", "framework/internal/binding/jsonedit", "framework/internal/binding/report", "framework/internal/binding/schema", "framework/internal/binding/spelling", "protocol/jsontext"}, external: []string{"github.com/go-playground/validator/v10"}},
	{prefix: "framework/internal/binding/plan", internal: []string{"framework/internal/binding/internal/bindingtest", "framework/internal/binding/gotype", "framework/internal/binding/jsonedit", "framework/internal/binding/report", "framework/internal/binding/rules", "framework/internal/binding/schema", "framework/internal/binding/spelling", "framework/internal/sourcedoc", "protocol/jsontext"}, external: []string{"github.com/invopop/jsonschema", "github.com/go-playground/validator/v10"}},
	{prefix: "framework/internal/binding/repair", internal: []string{"framework/internal/binding/gotype", "framework/internal/binding/jsonedit", "framework/internal/binding/plan", "framework/internal/binding/report", "framework/internal/binding/rules", "framework/internal/binding/schema", "framework/internal/binding/spelling", "protocol/jsontext"}},
	// Only tests of binding itself import these two.
	{prefix: "framework/internal/binding", internal: []string{"framework/internal/binding/internal/bindingtest", "framework/internal/binding/gotype", "framework/internal/binding/jsonedit", "framework/internal/binding/plan", "framework/internal/binding/repair", "framework/internal/binding/report", "framework/internal/binding/rules", "framework/internal/binding/schema", "protocol/jsontext"}, external: []string{"github.com/invopop/jsonschema", "github.com/go-playground/validator/v10"}},
	{prefix: "framework/internal/secretname"},
	{prefix: "framework/serve/record", internal: []string{"framework/internal/secretname", "protocol"}},
	{prefix: "framework/internal/uritemplate"},
	{prefix: "framework/internal/archtest"},
	{prefix: "framework/internal/catalog", internal: []string{
		"framework/internal/binding/spelling", "protocol", "protocol/dialect", "protocol/engine", "protocol/jsontext", "transport",
	}},
	{prefix: "framework", internal: []string{
		"protocol", "protocol/change", "protocol/claim", "protocol/dialect", "protocol/engine", "protocol/eventlog", "protocol/jsonrpc", "protocol/jsontext",
		"protocol/rounds", "protocol/session", "protocol/task", "transport",
		"framework/internal/binding", "framework/internal/binding/jsonedit", "framework/internal/catalog", "framework/internal/effectlog", "framework/internal/callsite", "framework/internal/secretname", "framework/internal/safestore", "framework/internal/sourcedoc", "framework/internal/uritemplate", "framework/store/memory",
		"framework/testhook",
	}, external: []string{"go.uber.org/zap"}},
	{prefix: "framework/store", internal: []string{"protocol/change", "protocol/eventlog", "protocol/session", "protocol/task"}},
	{prefix: "framework/store/memory", internal: []string{"protocol", "protocol/change", "protocol/claim", "protocol/eventlog", "protocol/session", "protocol/task", "framework/store/internal/inbox"}},
	{prefix: "framework/store/boltstore", internal: []string{"protocol", "protocol/change", "protocol/claim", "protocol/eventlog", "protocol/session", "protocol/task", "framework/store", "framework/store/memory", "framework/store/internal/record"}, external: []string{"go.etcd.io/bbolt", "golang.org/x/sys"}},
	{prefix: "framework/store/redisstore", internal: []string{"protocol", "protocol/change", "protocol/claim", "protocol/eventlog", "protocol/session", "protocol/task", "framework/store", "framework/store/internal/inbox", "framework/store/internal/record"}, external: []string{"github.com/redis/go-redis/v9"}},
	{prefix: "framework/store/internal/inbox"},
	{prefix: "framework/store/internal/record", internal: []string{"protocol", "protocol/session", "protocol/task"}},
	{prefix: "framework/internal/redisserver"},
	{prefix: "framework/internal/callsite"},
	{prefix: "framework/internal/sourcedoc"},
	{prefix: "framework/internal/sigpipe"},
	{prefix: "framework/internal/safestore", internal: []string{
		"protocol/change", "protocol/claim", "protocol/engine", "protocol/eventlog", "protocol/session", "protocol/task",
	}},
	{prefix: "framework/serve", internal: []string{
		"framework", "framework/internal/sigpipe", "framework/serve/page", "framework/serve/surface", "framework/store", "framework/store/memory", "protocol", "protocol/client", "protocol/jsontext", "transport", "transport/fiberhttp", "transport/stdio",
	}, external: []string{"go.uber.org/zap", "github.com/gofiber/fiber/v2", "github.com/valyala/fasthttp", "github.com/mattn/go-isatty"}},
	{prefix: "framework/internal/effectlog"},
	{prefix: "framework/serve/clients"},
	{prefix: "framework/serve/page", internal: []string{
		"framework/internal/effectlog", "framework/serve/clients", "framework/serve/surface/profile",
		"framework/internal/binding", "framework/internal/secretname", "framework/serve/record", "framework/serve/surface", "protocol", "protocol/client", "protocol/dialect", "protocol/jsontext", "transport",
	}},
	{prefix: "framework/serve/surface", internal: []string{"protocol", "protocol/dialect", "protocol/client", "protocol/jsontext"}},
	{prefix: "middleware", internal: []string{"framework", "protocol", "protocol/claim", "protocol/jsontext", "transport"}, external: []string{
		"go.uber.org/zap", "golang.org/x/time", "go.opentelemetry.io/otel",
	}},
	{prefix: "middleware/internal/proof", external: []string{"github.com/golang-jwt/jwt/v5", "github.com/MicahParks/jwkset"}},
	{prefix: "middleware/auth", internal: []string{"middleware/internal/proof", "transport"}, external: []string{
		"github.com/golang-jwt/jwt/v5", "github.com/MicahParks/jwkset",
	}},
	{prefix: "framework/mcpfx", internal: []string{
		"framework", "framework/internal/sigpipe", "framework/internal/callsite", "framework/mcpfx/internal/events", "framework/mcpfx/internal/unserved", "transport", "transport/fiberhttp", "transport/stdio",
	}, external: []string{"go.uber.org/fx", "go.uber.org/zap"}},
	{prefix: "framework/mcpfx/internal/unserved"},
	{prefix: "framework/mcpfx/internal/events", internal: []string{"framework"}, external: []string{"go.uber.org/fx", "go.uber.org/zap"}},
	{prefix: "framework/mcpfx/mcpfxtest", internal: []string{"framework", "framework/internal/callsite", "framework/mcpfx/internal/unserved"}, external: []string{"go.uber.org/fx"}},
	{prefix: "docs/code/tasks", internal: []string{"framework", "framework/serve", "framework/store/boltstore", "framework/store/redisstore", "protocol"}},
	{prefix: "docs/code/fx", internal: []string{"framework", "framework/mcpfx"}, external: []string{"go.uber.org/fx"}},
	{prefix: "docs/code/middleware", internal: []string{"framework", "framework/serve", "middleware", "protocol"}},
	{prefix: "docs/code/proxy", internal: []string{"framework", "framework/serve", "protocol", "protocol/client"}},
	{prefix: "docs/code/client", internal: []string{"protocol", "protocol/client"}},
	{prefix: "docs/code/auth", internal: []string{"framework", "framework/serve", "middleware/auth", "transport", "transport/fiberhttp", "transport/nethttp"}},
	{prefix: "framework/serve/surface/profile", internal: []string{"framework/serve/surface", "protocol"}},
	{prefix: "framework/serve/surface/contract", internal: []string{"framework/serve/surface", "protocol", "protocol/client", "protocol/dialect", "protocol/jsontext"}},
	// Hooks for tests: only framework and testkit import them.
	{prefix: "framework/testhook", internal: []string{
		"framework/internal/binding", "protocol/change", "protocol/claim", "protocol/eventlog", "protocol/session", "protocol/task",
	}, external: []string{"go.uber.org/zap"}},
	{prefix: "testkit", internal: []string{
		"framework", "framework/testhook", "framework/serve/record", "framework/serve/surface", "framework/serve/surface/contract", "framework/store/memory",
		"protocol", "protocol/change", "protocol/claim", "protocol/client", "protocol/dialect", "protocol/engine", "protocol/eventlog",
		"protocol/jsonrpc", "protocol/jsontext", "protocol/session", "protocol/task",
		"transport", "transport/fiberhttp", "transport/inmem", "transport/nethttp", "transport/stdio",
	}, external: []string{"github.com/valyala/fasthttp", "go.uber.org/zap"}},
	// A user's program, for the interop tests: its types say their schemas themselves.
	{prefix: "testkit/internal/schemaserver", internal: []string{"framework", "framework/serve"}, external: []string{"github.com/invopop/jsonschema"}},
	{prefix: "testkit/internal/longserver", internal: []string{"framework", "framework/serve", "framework/store/boltstore", "framework/store/memory", "framework/store/redisstore"}},
	{prefix: "testkit/storetest", internal: []string{"protocol", "protocol/change", "protocol/claim", "protocol/client/oauth", "protocol/eventlog", "protocol/session", "protocol/task"}},
	{prefix: "testkit/transporttest", internal: []string{"transport", "protocol/change", "protocol/eventlog", "protocol/session", "protocol/jsonrpc", "protocol/jsontext"}},
	{prefix: "cmd/kagami/internal/conform", internal: []string{"protocol", "protocol/client", "protocol/dialect", "protocol/jsonrpc", "protocol/jsontext"}},
	{prefix: "cmd/kagami/internal/login", internal: []string{"protocol/client/oauth"}},
	{prefix: "cmd/kagami/internal/group", external: []string{"golang.org/x/sys/windows"}},
	{prefix: "cmd/kagami/internal/bridge", internal: []string{"cmd/kagami/internal/group", "protocol", "protocol/jsontext"}},
	{prefix: "cmd/kagami", internal: []string{
		"cmd/kagami/internal/bridge", "cmd/kagami/internal/conform", "cmd/kagami/internal/group", "cmd/kagami/internal/login", "framework", "framework/serve/clients", "framework/serve/page", "framework/serve/surface", "framework/serve/surface/contract", "framework/serve/surface/profile",
		"protocol", "protocol/client", "protocol/client/oauth", "protocol/jsontext", "transport", "transport/stdio",
	}, external: []string{"github.com/BurntSushi/toml", "github.com/fsnotify/fsnotify", "github.com/mattn/go-isatty", "github.com/mattn/go-runewidth", "github.com/spf13/cobra", "github.com/tailscale/hujson", "golang.org/x/sys"}},
	{prefix: "docs"},
	{prefix: "docs/code/tools", internal: []string{"framework", "framework/serve", "middleware", "protocol"}, external: []string{"github.com/invopop/jsonschema"}},
	{prefix: "docs/code", internal: []string{"framework", "framework/serve", "protocol", "transport/fiberhttp", "transport/nethttp"}, external: []string{"github.com/gofiber/fiber/v2"}},
	{prefix: "examples/everything", internal: []string{"framework", "framework/serve", "framework/store/boltstore", "framework/store/redisstore", "protocol", "transport", "transport/nethttp"}, external: []string{"go.uber.org/zap"}},
	{prefix: "examples/everything-client", internal: []string{"protocol", "protocol/client", "protocol/client/oauth"}},
	{prefix: "examples", internal: []string{"framework", "framework/serve", "protocol", "transport"}, external: []string{"go.uber.org/zap"}},
}

// inTests may be imported by tests anywhere besides.
var inTests = []string{
	"go.uber.org/goleak", "pgregory.net/rapid", "github.com/santhosh-tekuri/jsonschema/v6", "go.uber.org/zap",
	"github.com/alicebob/miniredis/v2",
}
