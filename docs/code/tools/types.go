package main

import (
	"context"
	"log/slog"

	"github.com/invopop/jsonschema"
)

// Severity is a slog.Level whose schema lists the levels.
type Severity struct{ slog.Level }

// JSONSchema is listed, and enforced for arguments.
func (Severity) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Enum: []any{"DEBUG", "INFO", "WARN", "ERROR"}}
}

// WatchIn has types of another package.
type WatchIn struct {
	Least Severity   `json:"least" doc:"lowest level to show"`
	Most  slog.Level `json:"most" jsonschema:"type=string,pattern=^[A-Z]+$" default:"ERROR"`
}

// Watch is a tool.
func Watch(_ context.Context, in WatchIn) (string, error) {
	return "from " + in.Least.String() + " to " + in.Most.String(), nil
}
