package docs_test

import (
	"go/ast"
	"path/filepath"
	"slices"
)

// startFiles are the files of package framework whose errors end the start of a server.
const startFiles = `^framework/(server|scopes|worker|testhook)\.go$`

// Stores answer the engine with these texts, and the engine handles them.
const storeAnswers = `version …, … is stored|is no longer working|the task is not working|the lifetime of a claim|overflows|of … bytes, at most`

// startStores are the files of the stores whose errors end the start of a server.
const startStores = `store/(boltstore/(open|store|driver)|redisstore/(store|seal|driver))\.go`

var parts = []part{
	{
		"The app and its components", "`App.Build` reports all of them at once, each with its file and line.",
		[]string{"framework"},
		"", "", buildFaults, "",
	},
	{
		"Types, tags, schemas and templates", "`App.Build` reports them as well. The text begins with the path of the field.",
		[]string{"framework/internal/binding", "framework/internal/binding/gotype", "framework/internal/binding/report", "framework/internal/binding/plan", "framework/internal/binding/rules", "framework/internal/binding/schema", "framework/internal/rawschema", "framework/internal/uritemplate", "framework/internal/catalog"},
		"", `/(rule_schema|narrow.*|expand|invalid|match|safe|template|encode|plan|decode.*|strings)\.go$`, typeFaults, "",
	},
	{
		"Start of a server", "The program ends with them, or `Serve` returns them. `serve.Main` ends with exit code 2 for a command line that cannot be read, and 1 for the rest.",
		[]string{"framework", "framework/serve", "framework/serve/inspect", "framework/serve/page", "framework/mcpfx", "framework/store/boltstore", "framework/store/redisstore", "middleware/auth", "middleware/prometheus", "transport/stdio"},
		startFiles + `|` + startStores + `|^framework/serve/([a-z]+\.go|inspect/|page/serve)|^framework/mcpfx/|^middleware/auth/(env|local|auth|options|discovery)\.go|prometheus\.go|stdio/option\.go`, "", startErrors, "",
	},
	{
		"Wrong arguments", "A model reads them as the result of its call, with a corrected call behind them. The fix is for the caller.",
		[]string{"framework/internal/binding", "framework/internal/binding/gotype", "framework/internal/binding/report", "framework/internal/binding/plan", "framework/internal/binding/rules", "framework/internal/binding/schema", "framework/internal/binding/repair", "framework"},
		"", startFiles, teachings, "",
	},
	{
		"Calls", "A handler gets them from a function of the framework, or the log has them. A client sees only those that are meant for it.",
		[]string{"framework"},
		"", startFiles, callErrors, "",
	},
	{
		"Answers of the server", "A client gets them as a JSON-RPC error; `protocol.Error` and `protocol.Fault` have their texts.",
		[]string{"protocol/engine"},
		"", "", answers, "",
	},
	{
		"Calls, sessions and tasks that the server cannot go on with", "They are in the log, or a handler gets them. Their prefix is `engine:`.",
		[]string{"protocol/engine"},
		"", `/mirror\.go$`, madeFrom("log or call"), "",
	},
	{
		"Stores", "They are in the log, behind what the server was doing. If a call needs the store, its client gets an internal error.",
		[]string{"framework/store/memory", "framework/store/boltstore", "framework/store/redisstore"},
		"", startStores, madeFromPackage, storeAnswers,
	},
	{
		"The Go client", "Functions of `protocol/client` return them, and `kagami` prints them. `errors.Is` finds the cause.",
		[]string{"protocol/client"},
		"", `/(form|formcheck)\.go$`, madeFromPackage, "",
	},
	{
		"Answers to a form", "They say what is wrong with one field of an answer to the server's question.",
		[]string{"protocol/client"},
		`/(form|formcheck)\.go$`, "", madeFromPackage, "",
	},
	{
		"Logins", "Package `protocol/client/oauth` and `kagami auth` return them. [Logins](login.md) explains the steps.",
		[]string{"protocol/client/oauth"},
		"", "", logins, "",
	},
	{
		"The authorization server", "`authserver.New` returns those about its options. The others are in the log; clients get a code of the specification.",
		[]string{"middleware/authserver"},
		"", "", authServer, "nothing has changed|authserver: unknown$",
	},
	{
		"Wrong usage of kagami", "The exit code is 2. `kagami help COMMAND` shows the flags and examples.",
		[]string{"cmd/kagami"},
		"", "", usageErrors, "",
	},
	{
		"Failures of kagami", "The exit code tells a script which kind of failure it is ([exit codes](cli.md#exit-codes)).",
		[]string{"cmd/kagami", "cmd/kagami/internal/bridge", "cmd/kagami/internal/docgen", "cmd/kagami/internal/login"},
		"", "", failures, "",
	},
	{
		"Warnings in the log", "The server goes on, except after `the server has ended`. The fields of the line name the component and the cause.",
		[]string{"framework", "framework/mcpfx", "framework/serve", "middleware", "transport/nethttp", "transport/internal/hostcall", "transport/internal/httpserver", "transport/internal/legacysse", "transport/internal/streamable"},
		"", "", warnings, "",
	},
}

// madeFromPackage finds the errors that a file makes, which come from its package.
func madeFromPackage(s *source, file *ast.File) []message {
	return madeFrom(filepath.Base(s.dir))(s, file)
}

// answers finds the errors that the engine sends to clients.
func answers(s *source, file *ast.File) []message {
	var all []message
	for _, name := range []string{"Faultf", "mismatch"} {
		all = append(all, calls(s, file, name, "answer")...)
	}
	inFunctions(file, func(n ast.Node, fn *ast.FuncDecl) {
		pair, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return
		}
		if key, ok := pair.Key.(*ast.Ident); ok && key.Name == "Message" {
			for _, text := range within(s, fn).texts(pair.Value) {
				all = append(all, message{text: text, from: "answer"})
			}
		}
	})
	if i := slices.Index(s.files, file); i >= 0 && s.names[i] == "mirror.go" { // behind the name of a header field
		all = append(all, madeFrom("answer")(s, file)...)
	}
	return all
}

// logins finds the errors of package oauth. Those that only begin with an error of the package have its text in a
// row of their own.
func logins(s *source, file *ast.File) []message { return madeFrom("login")(s, file) }

// authServer adds the errors about options, which the method fault collects.
func authServer(s *source, file *ast.File) []message {
	all := madeFromPackage(s, file)
	inFunctions(file, func(n ast.Node, fn *ast.FuncDecl) {
		call, ok := n.(*ast.CallExpr)
		if !ok || fn == nil || calleeName(call) != "fault" || len(call.Args) < 2 {
			return
		}
		for _, text := range within(s, fn).texts(call.Args[1]) {
			text = collectorPrefix(s, fn) + verb.ReplaceAllString(text, unknown)
			all = append(all, message{text: text, from: "authserver.New"})
		}
	})
	return all
}

// collectorPrefix returns what the collector of a function puts in front of a text.
func collectorPrefix(s *source, fn *ast.FuncDecl) string {
	prefix := ""
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if field, ok := n.(*ast.KeyValueExpr); ok && named(field.Key, "part") {
			prefix = within(s, fn).texts(field.Value)[0]
		}
		return true
	})
	return prefix
}
