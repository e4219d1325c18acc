package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

const guideBegin = "<!-- the commands, written by go test ./cmd/kagami -run TestGuide -update -->\n"

// TestGuide checks that docs/cli.md has the help of every command.
func TestGuide(t *testing.T) {
	t.Parallel()
	const page = "../../docs/cli.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(text), guideBegin)
	if !found {
		t.Fatalf("%s has no line %s", page, guideBegin)
	}
	want := before + guideBegin + reference()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(text) != want {
		t.Errorf("%s is stale: go test ./cmd/kagami -run TestGuide -update", page)
	}
}

func reference() string {
	root := (&cli{}).command()
	var out strings.Builder
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help", "completion", "stand-in":
			continue
		}
		describeCommand(&out, cmd, "##")
		for _, sub := range cmd.Commands() {
			describeCommand(&out, sub, "###")
		}
	}
	fmt.Fprintf(&out, "\n## Flags of every command\n\n```\n%s```\n", root.PersistentFlags().FlagUsages())
	out.WriteString("\nNext: [apps](apps.md).\n")
	return out.String()
}

func describeCommand(out *strings.Builder, cmd *cobra.Command, level string) {
	name := strings.TrimPrefix(cmd.CommandPath(), "kagami ")
	fmt.Fprintf(out, "\n%s %s\n\n%s.\n\n```\nkagami %s\n```\n", level, name, cmd.Short, strings.TrimPrefix(cmd.UseLine(), "kagami "))
	if cmd.Long != "" && cmd.Long != cmd.Short {
		fmt.Fprintf(out, "\n```text\n%s\n```\n", strings.TrimSpace(cmd.Long))
	}
	if flags := cmd.LocalFlags().FlagUsages(); flags != "" {
		fmt.Fprintf(out, "\n```\n%s```\n", flags)
	}
	if cmd.Example != "" {
		fmt.Fprintf(out, "\n```sh\n%s\n```\n", strings.ReplaceAll(strings.TrimLeft(cmd.Example, " "), "\n  ", "\n"))
	}
}
