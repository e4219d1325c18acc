// Package unserved is how mcpfxtest tells mcpfx that a test carries the frames.
package unserved

// Mark in the graph: Module makes the app, and neither builds nor serves it.
type Mark struct{}
