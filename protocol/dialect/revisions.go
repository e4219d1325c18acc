package dialect

import (
	"slices"

	p "github.com/kagami-mcp/kagami/protocol"
)

// revisions is a set of revisions: one bit each, the oldest first.
type revisions uint8

// since returns the revisions from first on.
func since(first p.Revision) revisions {
	return ^revisions(0) << slices.Index(p.Revisions(), first)
}

// has reports whether the revision of d is in the set.
func (r revisions) has(d *Dialect) bool { return r&d.bit != 0 }

// The history of the protocol: sets of revisions, each named for a feature of its revisions. The
// tables of methods and members, and the traits of a Dialect, use these sets.
var (
	// 2024-11-05 is the first revision: sessions, and HTTP with two endpoints.
	always = since(p.Rev20241105)

	// 2025-03-26 adds Streamable HTTP, batches and audio.
	audio     = since(p.Rev20250326) // audio blocks
	batches   = since(p.Rev20250326) &^ since(p.Rev20250618)
	resumable = since(p.Rev20250326) & sessions

	// 2025-06-18 adds elicitation, structured output and links, and removes batches.
	titled            = since(p.Rev20250618) // components have a title
	extended          = since(p.Rev20250618) // components, blocks, contents and roots have _meta
	links             = since(p.Rev20250618) // resource_link blocks
	structuredContent = since(p.Rev20250618)
	elicits           = since(p.Rev20250618)
	versionHeader     = since(p.Rev20250618)

	// 2025-11-25 adds tasks, URL elicitation and sampling with tools.
	illustrated      = since(p.Rev20251125) // components and implementations have icons
	elicitModes      = since(p.Rev20251125) // elicitation/create: mode, URLs, and the newer form schemas
	elicitationIDs   = since(p.Rev20251125) & sessions
	samplesWithTools = since(p.Rev20251125)
	coreTasks        = since(p.Rev20251125) & sessions
	pollStreams      = since(p.Rev20251125) & sessions
	argumentResults  = since(p.Rev20251125)           // errors of arguments are results
	nullErrorID      = always &^ since(p.Rev20251125) // errors without a readable id have "id":null

	// 2026-07-28 removes sessions: each request describes its client. The server asks in rounds,
	// changes are sent on listen streams, and tasks are an extension.
	sessionless   = since(p.Rev20260728)
	sessions      = always &^ sessionless // the revisions with a handshake
	anyStructured = sessionless           // structured content and output schemas of any type
	resultType    = sessionless           // resultType, serverInfo and cache hints in results
)
