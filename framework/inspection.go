package framework

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/catalog"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
)

// Inspection describes everything that the server consists of, independent of the caller. The flag
// --inspect prints it together with what clients see.
type Inspection struct {
	Server       protocol.Implementation
	Instructions string
	Revision     string      // the newest revision
	Components   []Inspected // in the order of the lists
	Lists        []Step      // the steps of every list
	Warnings     []Fault     // the warnings of Build, in the order of registration
}

// Inspected describes one component.
type Inspected struct {
	ComponentInfo
	Hidden   bool
	Function string // name of the program's function, without the package
	Where    string // file:line of that function
	Added    string // file:line of the Add call that added it
	Chain    []Step // outermost first

	// Listed is the component's entry in lists for clients of the newest revision; nil for methods.
	// Read-only.
	Listed json.RawMessage
}

// Step describes one step of a chain.
type Step struct {
	Name    string
	Origin  string // "engine", "app", "group" or "component": the part of the program that added the step
	Phase   Phase  // for the engine's own steps PhaseApp, which has no meaning there
	PerCall bool
}

// Values of Step.Origin. The engine's own steps are outside all others.
const (
	originEngine    = "engine"
	originApp       = "app"
	originGroup     = "group"
	originComponent = "component"
)

// String returns the name of the phase: "app", "trace" and so on.
func (p Phase) String() string {
	if p < PhaseApp || p > PhaseValidate {
		return fmt.Sprintf("Phase(%d)", int(p))
	}
	return phaseNames[p]
}

var phaseNames = [...]string{
	PhaseApp: "app", PhaseTrace: "trace", PhaseAuth: "auth", PhaseLimit: "limit", PhaseCache: "cache", PhaseValidate: "validate",
}

// Inspect returns a description of the server as it is now. The caller owns its lists of components,
// steps and warnings. What they contain is shared and read-only, like the icons of the server. Inspect
// returns nil for a server that was not built.
func (s *Server) Inspect() *Inspection {
	if s == nil || s.registry == nil {
		return nil
	}
	all := &Inspection{
		Server: s.info, Instructions: s.cfg.instructions, Revision: newestDialect().String(),
		Lists: stepsOf(arranged(kindList, s.chain, nil, nil), 0), Warnings: slices.Clone(s.warnings),
	}
	for _, e := range s.registry.Entries() {
		all.Components = append(all.Components, e.Handler.(*componentHandler).inspected(e))
	}
	return all
}

func (b *componentHandler) inspected(e *catalog.Entry) Inspected {
	d := b.declared
	return Inspected{
		ComponentInfo: b.info, Hidden: e.Hidden,
		Function: d.function, Where: d.where, Added: b.at,
		Chain: stepsOf(b.steps, b.timeout), Listed: e.Wire[newestDialect()],
	}
}

func newestDialect() *dialect.Dialect {
	all := dialect.All()
	return all[len(all)-1]
}

// stepsOf describes a chain, including the engine's own steps in front of it. The first recovers
// panics of everything else. In the second, the catalog hides components from callers who lack
// their scopes.
func stepsOf(steps []Middleware, timeout time.Duration) []Step {
	all := []Step{{Name: "recovery", Origin: originEngine}, {Name: "scopes", Origin: originEngine}}
	if timeout > 0 {
		all = append(all, Step{Name: "timeout " + timeout.String(), Origin: originEngine})
	}
	for _, m := range steps {
		all = append(all, Step{Name: m.Name, Origin: m.from, Phase: m.Phase, PerCall: m.PerCall})
	}
	return all
}
