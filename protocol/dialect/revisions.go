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

var (
	always      = since(p.Rev20241105)
	titled      = since(p.Rev20250618) // components have a title
	extended    = since(p.Rev20250618) // components, blocks, contents and roots have _meta
	illustrated = since(p.Rev20251125) // components and implementations have icons
	sessionless = since(p.Rev20260728)
	sessions    = always &^ sessionless // the revisions with a handshake
	coreTasks   = since(p.Rev20251125) & sessions
)

// has reports whether the revision of d is in the set.
func (r revisions) has(d *Dialect) bool { return r&d.bit != 0 }

// shapes are differences of the wire form that only the encoders and decoders of this package use.
type shapes struct {
	audio         bool // audio blocks
	links         bool // resource_link blocks
	anyStructured bool // structured content and output schemas of any type
	elicitModes   bool // elicitation/create: mode, and the newer form schemas
	resultType    bool // resultType, serverInfo and cache hints in results
}

// history returns the dialects, oldest first. Each is a copy of its predecessor plus changes. The
// tables of members say which members a revision adds or removes.
func history() []*Dialect {
	a := since20241105()
	b := since20250326(a)
	c := since20250618(b)
	d := since20251125(c)
	all := []*Dialect{a, b, c, d, since20260728(d)}
	for i, d := range all {
		d.bit, d.all = 1<<i, all
		d.methods = methodsOf(d)
	}
	return all
}

// next returns a copy of d for a later revision.
func (d *Dialect) next(rev p.Revision) *Dialect {
	n := *d
	n.rev = rev
	return &n
}

// since20241105 returns the first revision: sessions, and HTTP with two endpoints.
func since20241105() *Dialect {
	d := &Dialect{rev: p.Rev20241105}
	d.handshake = true
	d.serverRequests = true
	d.nullErrorID = true
	return d
}

// since20250326 adds Streamable HTTP, batches and audio.
func since20250326(before *Dialect) *Dialect {
	d := before.next(p.Rev20250326)
	d.batches = true
	d.resumable = true
	d.audio = true
	return d
}

// since20250618 adds elicitation, structured output and links, and removes batches.
func since20250618(before *Dialect) *Dialect {
	d := before.next(p.Rev20250618)
	d.batches = false
	d.versionHeader = true
	d.structuredContent = true
	d.links = true
	d.elicits = true
	return d
}

// since20251125 adds tasks, URL elicitation and sampling with tools.
func since20251125(before *Dialect) *Dialect {
	d := before.next(p.Rev20251125)
	d.nullErrorID = false
	d.argumentErrorsAreResults = true
	d.pollStreams = true
	d.elicitModes = true
	d.elicitsURL = true
	d.elicitationIDs = true
	d.samplesWithTools = true
	d.coreTasks = true
	return d
}

// since20260728 removes sessions: each request describes its client. The server asks in rounds,
// changes are sent on listen streams, and tasks are an extension.
func since20260728(before *Dialect) *Dialect {
	d := before.next(p.Rev20260728)
	d.handshake, d.serverRequests = false, false
	d.resumable, d.pollStreams = false, false
	d.coreTasks, d.elicitationIDs = false, false
	d.resultType, d.anyStructured = true, true
	d.inputRounds, d.listenStream, d.logLevelPerRequest, d.taskExtension = true, true, true, true
	d.mirrorHeaders, d.statusByCode, d.cancelByClose = true, true, true
	return d
}
