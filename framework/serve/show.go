package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve/inspect"
)

// show answers --inspect and --version.
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

// strictly is the error of --strict, with the warnings of the server.
func (f *flags) strictly(server *framework.Server) error {
	warnings := server.Inspect().Warnings
	if !f.strict || len(warnings) == 0 {
		return nil
	}
	report := &framework.BuildError{Faults: warnings}
	return errors.New(report.Error()) // no BuildError: the app can be served
}

// broken answers --inspect=json of an app that does not build: a program asked for JSON, and
// gets the report as JSON. The error is that of Build all the same, since people look for its
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
