// Command charged is a server with a tool that runs as a task, for the tests of kagami. The task
// appends to the file that $CHARGED names. With $IDLE the server leaves tasks in its store.
package main

import (
	"os"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
	_ "github.com/kagami-mcp/kagami/framework/store/boltstore"
	_ "github.com/kagami-mcp/kagami/framework/store/redisstore"
)

func main() {
	var opts []framework.AppOption
	if os.Getenv("IDLE") != "" {
		opts = append(opts, framework.WithTaskWorkers(0))
	}
	serve.Main(framework.New("charged", "1", opts...).Add(framework.Func("charge", func() (string, error) {
		return "Charged.", os.WriteFile(os.Getenv("CHARGED"), []byte("charged"), 0o600)
	}, framework.Describe("Charge a card."), framework.Task(framework.TaskRequired))))
}
