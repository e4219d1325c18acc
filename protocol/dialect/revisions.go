package dialect

import (
	p "github.com/kagami-mcp/kagami/protocol"
)

// shapes are differences of the wire form that only the encoders and decoders of this package use.
type shapes struct {
	audio            bool // audio blocks
	links            bool // resource_link blocks
	titles           bool // title beside name
	metas            bool // _meta on components, blocks, contents and roots
	lastModified     bool // annotations.lastModified
	toolAnnotations  bool // Tool.annotations
	anyStructured    bool // structured content and output schemas of any type
	icons            bool // icons, and description and websiteUrl of an Implementation
	completions      bool // the capability completions
	context          bool // completion/complete: context
	progressMessage  bool // notifications/progress: message
	elicitModes      bool // elicitation/create: mode, and the newer form schemas
	optionalCancelID bool // notifications/cancelled may lack requestId
	resultType       bool // resultType, serverInfo and cache hints in results
	rootsChanged     bool // the capability roots.listChanged
}

// history returns the dialects, oldest first. Each is a copy of its predecessor plus changes.
func history() []*Dialect {
	a := since20241105()
	b := since20250326(a)
	c := since20250618(b)
	d := since20251125(c)
	all := []*Dialect{a, b, c, d, since20260728(d)}
	for _, d := range all {
		d.methods, d.all = methodsOf(d.rev), all
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
	d.rootsChanged = true
	return d
}

// since20250326 adds Streamable HTTP, batches, tool annotations and audio.
func since20250326(before *Dialect) *Dialect {
	d := before.next(p.Rev20250326)
	d.batches = true
	d.resumable = true
	d.toolAnnotations = true
	d.audio = true
	d.completions = true
	d.progressMessage = true
	return d
}

// since20250618 adds elicitation, structured output, links and titles, and removes batches.
func since20250618(before *Dialect) *Dialect {
	d := before.next(p.Rev20250618)
	d.batches = false
	d.versionHeader = true
	d.structuredContent = true
	d.links = true
	d.titles = true
	d.metas = true
	d.lastModified = true
	d.context = true
	d.elicits = true
	return d
}

// since20251125 adds tasks, URL elicitation, sampling with tools and icons.
func since20251125(before *Dialect) *Dialect {
	d := before.next(p.Rev20251125)
	d.nullErrorID = false
	d.argumentErrorsAreResults = true
	d.pollStreams = true
	d.icons = true
	d.optionalCancelID = true
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
	d.handshake, d.serverRequests, d.rootsChanged = false, false, false
	d.resumable, d.pollStreams = false, false
	d.coreTasks, d.elicitationIDs, d.optionalCancelID = false, false, false
	d.resultType, d.anyStructured = true, true
	d.inputRounds, d.listenStream, d.logLevelPerRequest, d.taskExtension = true, true, true, true
	d.mirrorHeaders, d.statusByCode, d.cancelByClose = true, true, true
	return d
}
