package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
)

// strictFlag adds --strict to a command that shows what a server offers.
func strictFlag(cmd *cobra.Command, strict *bool) {
	cmd.Flags().BoolVar(strict, "strict", false, "exit with 1 if the server has warnings; the server must be a program that supports --inspect")
}

var errStrictURL = usagef("--strict: a server at a URL does not show its warnings; give its Go package")

// strictly returns an error if strict is set and the report of a server has warnings.
func strictly(doc []byte, strict bool) error {
	var report struct {
		Warnings []struct{ Component, Path, Problem string } `json:"warnings"`
	}
	if err := json.Unmarshal(doc, &report); err != nil || !strict || len(report.Warnings) == 0 {
		return err
	}
	text := fmt.Sprintf("--strict: the server has %d warnings", len(report.Warnings))
	if len(report.Warnings) == 1 {
		text = "--strict: the server has a warning"
	}
	for _, w := range report.Warnings {
		text += "\n  " + w.Component + ": "
		if w.Path != "" {
			text += w.Path + ": "
		}
		text += w.Problem
	}
	return fmt.Errorf("%s", text)
}

// showCommand returns a command that shows what a server offers. With --strict, the command then runs the
// server's program to get its report, and fails if the report has warnings.
func (a *cli) showCommand(name, short string, show func(ctx context.Context, server []string) error) *cobra.Command {
	var strict bool
	cmd := &cobra.Command{Use: name + " SERVER", Short: short, RunE: a.onServer(func(ctx context.Context, server []string) error {
		if strict && remote(server) {
			return errStrictURL
		}
		if err := show(ctx, server); err != nil || !strict {
			return err
		}
		program, cleanup, err := a.program(ctx, server)
		if err != nil {
			return err
		}
		defer cleanup()
		doc, err := a.ownReport(ctx, program)
		if err != nil {
			return err
		}
		return strictly(doc, true)
	})}
	strictFlag(cmd, &strict)
	a.completes(cmd, nil)
	return cmd
}
