package dialect

import (
	"maps"

	p "github.com/kagami-mcp/kagami/protocol"
)

// shapes are the differences of the wire form that only the encoders and
// decoders of this package look at.
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
	resultType       bool // results say what they are, who made them, how long they keep
	rootsChanged     bool // the capability roots.listChanged
}

// history builds the dialects, oldest first: each is the one before, plus its changes.
func history() []*Dialect {
	a := since20241105()
	b := since20250326(a)
	c := since20250618(b)
	d := since20251125(c)
	return []*Dialect{a, b, c, d, since20260728(d)}
}

// next is a copy of d for a later revision.
func (d *Dialect) next(rev p.Revision) *Dialect {
	n := *d
	n.rev = rev
	n.methods = maps.Clone(d.methods)
	return &n
}

// since20241105 is the first revision: sessions, HTTP with two endpoints.
func since20241105() *Dialect {
	d := &Dialect{rev: p.Rev20241105, methods: map[string]sides{}}
	d.handshake = true
	d.serverRequests = true
	d.nullErrorID = true
	d.rootsChanged = true
	d.add(clientAsks,
		p.MethodInitialize, p.MethodPing, p.MethodListTools, p.MethodCallTool,
		p.MethodListResources, p.MethodListTemplates, p.MethodReadResource,
		p.MethodSubscribe, p.MethodUnsubscribe, p.MethodListPrompts, p.MethodGetPrompt,
		p.MethodComplete, p.MethodSetLevel)
	d.add(serverAsks, p.MethodPing, p.MethodCreateMessage, p.MethodListRoots)
	d.add(clientTells,
		p.NotificationInitialized, p.NotificationCancelled, p.NotificationProgress,
		p.NotificationRootsChanged)
	d.add(serverTells,
		p.NotificationCancelled, p.NotificationProgress, p.NotificationMessage,
		p.NotificationToolsChanged, p.NotificationResourcesChanged,
		p.NotificationPromptsChanged, p.NotificationResourceUpdated)
	return d
}

// since20250326 brings Streamable HTTP, batches, tool annotations and audio.
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

// since20250618 brings elicitation, structured output, links and titles; batches go.
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
	d.add(serverAsks, p.MethodElicit)
	return d
}

// since20251125 brings tasks, URL elicitation, sampling with tools and icons.
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
	d.add(clientAsks|serverAsks, p.MethodGetTask, p.MethodTaskResult, p.MethodListTasks, p.MethodCancelTask)
	d.add(clientTells|serverTells, p.NotificationTaskStatus)
	d.add(serverTells, p.NotificationElicitationComplete)
	return d
}

// since20260728 has no sessions: each request speaks for itself, the server
// asks in rounds, changes travel on listen streams, tasks are an extension.
func since20260728(before *Dialect) *Dialect {
	d := before.next(p.Rev20260728)
	d.handshake, d.serverRequests, d.rootsChanged = false, false, false
	d.resumable, d.pollStreams = false, false
	d.coreTasks, d.elicitationIDs, d.optionalCancelID = false, false, false
	d.resultType, d.anyStructured = true, true
	d.inputRounds, d.listenStream, d.logLevelPerRequest, d.taskExtension = true, true, true, true
	d.mirrorHeaders, d.statusByCode, d.cancelByClose = true, true, true
	d.remove(
		p.MethodInitialize, p.MethodPing, p.MethodSubscribe, p.MethodUnsubscribe, p.MethodSetLevel,
		p.MethodGetTask, p.MethodTaskResult, p.MethodListTasks, p.MethodCancelTask,
		p.NotificationInitialized, p.NotificationRootsChanged, p.NotificationProgress,
		p.NotificationTaskStatus, p.NotificationElicitationComplete)
	d.add(clientAsks, p.MethodDiscover, p.MethodListen)
	d.add(clientAsks, p.MethodGetTask, p.MethodCancelTask, p.MethodUpdateTask)
	d.add(serverTells, p.NotificationProgress, p.NotificationAcknowledged, p.NotificationTask)
	return d
}
