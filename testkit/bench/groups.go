package main

import (
	"context"
	"fmt"

	"github.com/kagami-mcp/kagami/testkit/bench/internal/load"
	"github.com/kagami-mcp/kagami/testkit/bench/internal/sample"
)

// group is what -only chooses, and what becomes a table.
type group struct {
	name string
	run  func(ctx context.Context, b *bench) error
}

// groups are in the order of the runs and of the tables.
var groups = []group{
	{"http-json", func(ctx context.Context, b *bench) error { return b.calls(ctx, "json", load.AcceptBoth) }},
	{"http-sse", func(ctx context.Context, b *bench) error { return b.calls(ctx, "sse", load.AcceptSSE) }},
	{"http-stream", streams},
	{"http-large", large},
	{"many", many},
	{"stdio", overPipes},
	{"progress", progress},
	{"inside", inside},
	{"idle", idle},
	{"cold", start},
	{"growth", growth},
}

var (
	eras        = []load.Era{load.Handshake(), load.Stateless()}
	connections = []int{1, 16, 64, 256}
)

// on is the servers over HTTP for an era, with the bare ones.
func on(era load.Era, accept string, env ...string) []server {
	return []server{
		kagami.with(env...), sdk.with(env...).with(modeOf(era, accept)), mcpgo.with(env...), mcpgoBare.with(env...), fiberEcho, netEcho,
	}
}

// idOf names a workload over HTTP.
func idOf(what, kind string, era load.Era, connections int) string {
	return fmt.Sprintf("http %s %s %s c%d", what, kind, era, connections)
}

// calls are small ones at each number of connections, and large ones.
func (b *bench) calls(ctx context.Context, kind, accept string) error {
	for _, era := range eras {
		for _, n := range connections {
			w := webLoad{
				id: idOf("add", kind, era, n), era: era, message: era.Call("add", sample.AddCall),
				accept: accept, connections: n, servers: on(era, accept),
			}
			if err := b.web(ctx, w); err != nil {
				return err
			}
		}
		w := webLoad{
			id: idOf("search", kind, era, 64), era: era, message: era.Call("search", sample.SearchCall),
			accept: accept, connections: 64, servers: on(era, accept),
		}
		if err := b.web(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// streams are answers before which something else is sent: one report of progress.
func streams(ctx context.Context, b *bench) error {
	for _, era := range eras {
		w := webLoad{
			id: idOf("notify", "stream", era, 64), era: era, message: era.Reported("notify", `{"n":1}`),
			accept: load.AcceptBoth, connections: 64, reports: 1, servers: on(era, load.AcceptSSE),
		}
		if err := b.web(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// large are answers of 256 KB, and a list of 200 tools.
func large(ctx context.Context, b *bench) error {
	for _, era := range eras {
		list := sample.ToolsVar + "=200"
		for _, w := range []webLoad{
			{id: idOf("blob", "json", era, 16), message: era.Call("blob", `{}`), servers: on(era, load.AcceptBoth)},
			{id: idOf("list", "json", era, 16), message: era.List(), servers: on(era, load.AcceptBoth, list)},
		} {
			w.era, w.accept, w.connections = era, load.AcceptBoth, 16
			if err := b.web(ctx, w); err != nil {
				return err
			}
		}
	}
	return nil
}

// Names of one server with different numbers of components.
const (
	nameOneTemplate = "Kagami, 1 template"
	nameTenTools    = "Kagami, 10 tools"
)

// many compares servers that offer much with those that offer little.
func many(ctx context.Context, b *bench) error {
	era := load.Handshake()
	one, ten := kagami.with(sample.TemplatesVar+"=1"), kagami.with(sample.ToolsVar+"=6")
	one.name, ten.name = nameOneTemplate, nameTenTools
	read := webLoad{
		id: "http read 100 templates c64", message: era.Read(sample.ResourceURI(0)),
		servers: append(on(era, load.AcceptBoth, sample.TemplatesVar+"=100"), one),
	}
	call := webLoad{
		id: "http add 1000 tools c64", message: era.Call("add", sample.AddCall),
		servers: append(on(era, load.AcceptBoth, sample.ToolsVar+"=996"), ten),
	}
	for _, w := range []webLoad{read, call} {
		w.era, w.accept, w.connections = era, load.AcceptBoth, 64
		if err := b.web(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// onPipes is the servers on stdio. With one call at a time there is one more, which shows what a short
// delay costs by itself: the client's processor can fall asleep meanwhile.
func onPipes(depth int) []server {
	servers := []server{kagami, sdk, mcpgo, mcpgoBare, pipeEcho}
	if depth == 1 {
		servers = append(servers, busyEcho)
	}
	return servers
}

func overPipes(ctx context.Context, b *bench) error {
	era := load.Handshake()
	for _, depth := range []int{1, 64} {
		for tool, arguments := range map[string]string{"add": sample.AddCall, "search": sample.SearchCall} {
			w := pipeLoad{
				id:      fmt.Sprintf("stdio %s depth %d", tool, depth),
				message: era.Call(tool, arguments), depth: depth, servers: onPipes(depth),
			}
			if err := b.pipes(ctx, w); err != nil {
				return err
			}
		}
	}
	return nil
}

// reports is the number of progress reports of one call.
const reports = 10_000

func progress(ctx context.Context, b *bench) error {
	era := load.Handshake()
	message := era.Reported("notify", fmt.Sprintf(`{"n":%d}`, reports))
	servers := []server{kagami, sdk, mcpgo}
	err := b.pipes(ctx, pipeLoad{id: "stdio progress", message: message, depth: 1, reports: reports, servers: servers})
	if err != nil {
		return err
	}
	return b.web(ctx, webLoad{
		id: "http progress", era: era, message: message, accept: load.AcceptBoth, connections: 1, reports: reports, servers: servers,
	})
}

func inside(ctx context.Context, b *bench) error {
	servers := []server{kagami, sdk, mcpgo, mcpgoBare}
	if err := b.inside(ctx, "inside add", "add", sample.AddCall, servers); err != nil {
		return err
	}
	return b.inside(ctx, "inside search", "search", sample.SearchCall, servers)
}

func idle(ctx context.Context, b *bench) error {
	old, now := load.Handshake(), load.Stateless()
	servers := []server{kagami, sdk, mcpgo}
	if err := b.idleSessions(ctx, "idle sessions", servers); err != nil {
		return err
	}
	if err := b.idleStreams(ctx, "idle GET streams", old, servers); err != nil {
		return err
	}
	stateless := []server{kagami, sdk.with(modeOf(now, load.AcceptBoth)), mcpgo}
	return b.idleStreams(ctx, "idle listen streams", now, stateless)
}

// start compares programs with one tool or none, and the programs of all tables with their four
// tools.
func start(ctx context.Context, b *bench) error {
	return b.cold(ctx, "cold start", []server{
		{name: nameConstant, program: "constant"},
		{name: nameLinked, program: "linked"},
		{name: nameHello, program: "hello"},
		{name: nameFX, program: "kagamifx"},
		{name: nameKagami, program: "kagami"},
		{name: nameSDK, program: "gosdk"},
		{name: nameMCPGo, program: "mcpgo"},
	})
}
