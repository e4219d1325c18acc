// Command shop is an MCP server for the staff of a small tea shop. It is built with fx
// and stores its data in SQLite.
//
//	go run .                 serve on http://127.0.0.1:8080/mcp
//	go run . -stdio -db tea.db
//	go run . -inspect
package main

import (
	"flag"
	"os"

	"go.uber.org/fx"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/mcpfx"
	"github.com/kagami-mcp/kagami/framework/serve/inspect"
)

// Config has the values of the command line.
type Config struct {
	Database string // file; "": a new database in memory for each run
}

func main() {
	stdio := flag.Bool("stdio", false, "serve on stdin and stdout, for a client that starts this program")
	addr := flag.String("http", ":8080", "serve on this address; a port alone is this machine only")
	database := flag.String("db", "", "file of the database; it is in memory without one")
	var look inspect.Format
	flag.Var(&look, "inspect", "print what the server offers, and exit; =json for kagami inspect")
	flag.Parse()
	carrier := mcpfx.HTTP(*addr)
	switch {
	case look.Wanted():
		carrier = mcpfx.Carrier(look.Carrier(os.Stdout))
	case *stdio:
		carrier = mcpfx.Stdio()
	}
	fx.New(program(carrier), fx.Supply(Config{Database: *database})).Run()
}

// program returns the program without its configuration. Tests can replace what it provides.
func program(carriers ...mcpfx.Option) fx.Option {
	return fx.Options(
		mcpfx.Module("shop", "1.0.0", append(carriers, mcpfx.Options(
			framework.WithTitle("Tea shop"),
			framework.WithInstructions("Look up products and customers before you place an order. All prices are in cents."),
		))...),
		mcpfx.Provide(newCatalog, newCustomers, newOrders),
		mcpfx.UseProvided(newJournal),
		fx.Provide(openDatabase, newPayments, newClock),
	)
}
