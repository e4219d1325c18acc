package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve/inspect"
)

// show prints the output of --inspect and --version.
func (s *settings) show(ctx context.Context, server *framework.Server, f *flags) (err error) {
	defer func() { err = errors.Join(err, server.Shutdown(ctx)) }()
	all, err := inspect.Surface(ctx, server)
	if err != nil {
		return err
	}
	if f.version {
		_, err = fmt.Fprintln(s.out, all.Server.Name, all.Server.Version)
		return err
	}
	return errors.Join(f.inspect.Write(s.out, all), f.strictly(server))
}

// strictly returns the error of --strict, which contains the server's warnings. Without --strict,
// or without warnings, it returns nil.
func (f *flags) strictly(server *framework.Server) error {
	warnings := server.Inspect().Warnings
	if !f.strict || len(warnings) == 0 {
		return nil
	}
	report := &framework.BuildError{Faults: warnings}
	return errors.New(report.Error()) // not a BuildError, because the app can be served
}

// broken handles err, the error of Build. With --inspect=json it also writes the report as JSON to
// stdout, for the program that asked for JSON. It returns err in any case, because people read its
// text on stderr.
func (s *settings) broken(err error, f *flags) error {
	var report *framework.BuildError
	if f.inspect != inspect.JSON || f.version || !errors.As(err, &report) {
		return err
	}
	out := json.NewEncoder(s.out)
	out.SetIndent("", "  ")
	if failure := out.Encode(report); failure != nil {
		return errors.Join(err, fmt.Errorf("writing the report: %w", failure))
	}
	return err
}
