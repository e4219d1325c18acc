// Command longserver is a server with work that outlives its requests, for tests that kill it
// during the work.
//
// It is used like any server; its flags are the flags of package serve. Environment variables set
// the rest:
//
//	NODE          the name of this process, in questions, results and effects
//	RECEIVER_URL  where effects go: a form with key, label, what and node
//	LONG_STORE    file:PATH or redis://HOST:PORT/DB, with the times below
//	LONG_LEASE    how long a worker has a task without renewing its lease
//	LONG_SWEEP    how often a worker looks for expired leases
//	LONG_WORKERS  how many tasks run at once
//	LONG_LEASH    if set, the process is killed when stdin ends, because its parent has ended
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
	"github.com/kagami-mcp/kagami/framework/store/boltstore"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/framework/store/redisstore"
)

func main() {
	app, err := newApp(context.Background()) //nolint:forbidigo // main is where contexts begin
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "longserver:", err)
		os.Exit(1)
	}
	if os.Getenv("LONG_LEASH") != "" {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(1)
		}()
	}
	serve.Main(app)
}

func newApp(ctx context.Context) (*framework.App, error) {
	opts, kept, err := environment(ctx)
	if err != nil {
		return nil, err
	}
	n := &node{name: os.Getenv("NODE"), receiver: os.Getenv("RECEIVER_URL")}
	app := framework.New("longserver", "1.0.0", append(opts, framework.WithShutdownGrace(30*time.Second))...).Add(n.components()...)
	if kept != nil {
		app.UseStore(kept).OnStop(func(context.Context, *framework.Server) error { return kept.Close() })
	}
	return app, nil
}

// store is a store that the environment names.
type store interface {
	framework.Store
	io.Closer
}

func environment(ctx context.Context) ([]framework.AppOption, store, error) {
	var opts []framework.AppOption
	if text := os.Getenv("LONG_WORKERS"); text != "" {
		workers, err := strconv.Atoi(text)
		if err != nil {
			return nil, nil, fmt.Errorf("LONG_WORKERS: %w", err)
		}
		opts = append(opts, framework.WithTaskWorkers(workers))
	}
	lease, err := duration("LONG_LEASE", 30*time.Second)
	if err != nil {
		return nil, nil, err
	}
	sweep, err := duration("LONG_SWEEP", 10*time.Second)
	if err != nil {
		return nil, nil, err
	}
	var kept store
	url := os.Getenv("LONG_STORE")
	switch scheme, rest, _ := strings.Cut(url, ":"); scheme {
	case "":
	case "file":
		kept, err = boltstore.Open(rest, boltstore.Sized(memory.Bounds{LeaseLife: lease}), boltstore.LockWait(5*time.Second))
	default:
		kept, err = redisstore.Open(ctx, url, redisstore.LeaseLife(lease), redisstore.Sweep(sweep))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("LONG_STORE: %w", err)
	}
	return opts, kept, nil
}

// duration returns the duration in an environment variable, or d if the variable is not set.
func duration(name string, d time.Duration) (time.Duration, error) {
	text := os.Getenv(name)
	if text == "" {
		return d, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}
