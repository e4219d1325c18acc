package serve

import (
	"flag"
	"fmt"
	"io"
	"strings"
)

// setting is a flag, with the words that describe it in the help and in docs/config.md.
type setting struct {
	name  string
	value string // form of the value, as in "--http ADDR"; "" without a value
	text  string // description, in lines as in the help
	alone bool   // it has no environment variable
}

// settingsTable returns all flags, in the order of the help.
func settingsTable() []setting {
	return []setting{
		{name: "stdio", text: "serve on stdin and stdout, the default without --http"},
		{name: "http", value: " ADDR", text: "serve on HTTP at /mcp; :8080 is port 8080 of this machine only,\nand 0.0.0.0 without a port listens on $PORT or 8080"},
		{name: "allow-host", value: " NAME", text: "name under which clients reach the server over HTTP, besides\nlocalhost; several with commas"},
		{name: "allow-origin", value: " URL", text: "page that may call the server over HTTP; several with commas"},
		{name: "tls-cert", value: " FILE", text: "certificate for HTTPS, as PEM"},
		{name: "tls-key", value: " FILE", text: "private key of the certificate, as PEM"},
		{name: "session-idle", value: " TIME", text: "end a session after this long without a request, such as 30m"},
		{name: "body-limit", value: " SIZE", text: "largest request over HTTP, such as 8MB"},
		{name: "page", value: "[=:PORT]", text: "serve a page for a browser on this machine, to inspect the server"},
		{name: "store", value: " URL", text: "where to keep tasks, sessions and streams: file:PATH, or\nredis://HOST:PORT/DB for several processes, or memory:"},
		{name: "worker", text: "only run tasks of the store, without serving clients"},
		{name: "log-level", value: " LEVEL", text: "log from this level on: debug, info, warn or error"},
		{name: "log-format", value: " FORMAT", text: "json or console; the default is console on a terminal"},
		{name: "inspect", value: "[=json]", text: "start, print what the server offers, and exit"},
		{name: "strict", text: "exit with 1 if there are warnings, after --inspect or instead of\nserving"},
		{name: "health", text: "check whether the server at --http is ready, and exit", alone: true},
		{name: "version", text: "start, print name and version, and exit", alone: true},
		{name: "help", text: "print this, and exit", alone: true},
	}
}

// set returns a flag set whose flags are stored in f.
func (f *flags) set() *flag.FlagSet {
	set := flag.NewFlagSet("serve", flag.ContinueOnError)
	set.SetOutput(io.Discard) // messages of package flag do not mention the environment
	set.BoolVar(&f.stdio, "stdio", false, "")
	set.StringVar(&f.http, "http", "", "")
	set.Var(&f.allowHosts, "allow-host", "")
	set.Var(&f.allowOrigins, "allow-origin", "")
	set.StringVar(&f.tlsCert, "tls-cert", "", "")
	set.StringVar(&f.tlsKey, "tls-key", "", "")
	set.Func("session-idle", "", f.setSessionIdle)
	set.Var(&f.bodyLimit, "body-limit", "")
	set.Var(&f.page, "page", "")
	set.StringVar(&f.store, "store", "", "")
	set.BoolVar(&f.worker, "worker", false, "")
	set.Var(&f.logLevel, "log-level", "")
	set.StringVar(&f.logFormat, "log-format", "", "")
	set.Var(&f.inspect, "inspect", "")
	set.BoolVar(&f.strict, "strict", false, "")
	set.BoolVar(&f.health, "health", false, "")
	set.BoolVar(&f.version, "version", false, "")
	return set
}

// flagNames returns the names of all flags on one line.
func flagNames() string {
	var names []string
	for _, one := range settingsTable() {
		names = append(names, "--"+one.name)
	}
	return strings.Join(names, ", ")
}

// variable returns the name of the environment variable for a flag, or "" if there is none.
func (s *settings) variable(one setting) string {
	if s.prefix == "" || one.alone {
		return ""
	}
	return s.prefix + "_" + strings.ToUpper(strings.ReplaceAll(one.name, "-", "_"))
}

func (s *settings) help() error {
	var text strings.Builder
	_, _ = fmt.Fprintf(&text, `Usage: %s [flags]

An MCP server. Without flags it serves the Model Context Protocol on stdin and stdout.

Flags (in brackets the environment variable; a flag takes precedence):
`, programName())
	for _, one := range settingsTable() {
		words := strings.ReplaceAll(one.text, "\n", "\n"+strings.Repeat(" ", 23))
		if variable := s.variable(one); variable != "" {
			words += " [" + variable + "]"
		}
		_, _ = fmt.Fprintf(&text, "  %-20s %s\n", "--"+one.name+one.value, words)
	}
	_, err := io.WriteString(s.out, text.String())
	return err
}
