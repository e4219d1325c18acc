package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/kagami-mcp/kagami/testkit/bench/internal/target"
)

// Names of the targets, as the tables have them.
const (
	nameKagami    = "Kagami"
	nameSDK       = "Go SDK"
	nameMCPGo     = "mcp-go, validating"
	nameMCPGoBare = "mcp-go, as shipped"
	nameFiber     = "bare Fiber"
	nameNet       = "bare net/http"
	namePipes     = "bare pipes"
	nameBusyPipes = "bare pipes, after 2 µs of work"
	nameHello     = "Kagami, examples/hello"
	nameFX        = "Kagami, fx"
	nameConstant  = "bare Go"
	nameLinked    = "bare Go with net/http and encoding/json"
)

// order of the targets in tables.
var order = []string{
	nameKagami, nameHello, nameFX, nameSDK, nameMCPGo, nameMCPGoBare, nameFiber, nameNet, namePipes, nameBusyPipes, nameConstant, nameLinked,
}

// server is how a target is started.
type server struct {
	name    string
	program string
	env     []string
	echo    bool // answers what Kagami has answered
}

func (s server) with(env ...string) server {
	s.env = append(append([]string(nil), s.env...), env...)
	return s
}

// The servers, and the ones that only echo.
var (
	kagami    = server{name: nameKagami, program: "kagami"}
	sdk       = server{name: nameSDK, program: "gosdk"}
	mcpgo     = server{name: nameMCPGo, program: "mcpgo", env: []string{"BENCH_MODE=validate"}}
	mcpgoBare = server{name: nameMCPGoBare, program: "mcpgo"}
	fiberEcho = server{name: nameFiber, program: "fiberecho", echo: true}
	netEcho   = server{name: nameNet, program: "httpecho", echo: true}
	pipeEcho  = server{name: namePipes, program: "stdioecho", echo: true}
	busyEcho  = server{name: nameBusyPipes, program: "stdioecho", echo: true, env: []string{target.WaitVar + "=2us"}}
)

// programs are the directories that are built, by the names of the programs.
var programs = map[string]string{
	"kagami": "./targets/kagami", "kagamifx": "./targets/kagamifx", "gosdk": "./targets/gosdk", "mcpgo": "./targets/mcpgo",
	"fiberecho": "./targets/fiberecho", "httpecho": "./targets/httpecho", "stdioecho": "./targets/stdioecho",
	"constant": "./targets/constant", "linked": "./targets/linked", "growth": "./targets/growth", "hello": "github.com/kagami-mcp/kagami/examples/hello",
}

// build makes all programs in dir, stripped as one would ship them.
func build(ctx context.Context, dir string) error {
	for name, path := range programs {
		cmd := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", filepath.Join(dir, name), path)
		cmd.Stderr = os.Stderr
		cmd.Env = append(os.Environ(), "GOTMPDIR="+dir)                       // if it is stopped, it leaves files
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // so that it waits for its compilers
		cmd.WaitDelay = time.Minute
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("building %s: %w", path, err)
		}
	}
	return nil
}
