package dialect

import (
	"github.com/kagami-mcp/kagami/protocol"
)

var implementationMembers = fields[protocol.Implementation]{
	{"name", required, func(_ *Dialect, i *protocol.Implementation, v []byte) *fail { return readString(&i.Name, v) }},
	{"title", optional, since(hasTitles, func(_ *Dialect, i *protocol.Implementation, v []byte) *fail { return readString(&i.Title, v) })},
	{"version", required, func(_ *Dialect, i *protocol.Implementation, v []byte) *fail { return readString(&i.Version, v) }},
	{"description", optional, since(hasIcons, func(_ *Dialect, i *protocol.Implementation, v []byte) *fail {
		return readString(&i.Description, v)
	})},
	{"websiteUrl", optional, since(hasIcons, func(_ *Dialect, i *protocol.Implementation, v []byte) *fail {
		return readString(&i.WebsiteURL, v)
	})},
	{"icons", optional, since(hasIcons, func(d *Dialect, i *protocol.Implementation, v []byte) *fail { return readIcons(d, &i.Icons, v) })},
}

var toolMembers = fields[protocol.Tool]{
	{"name", required, func(_ *Dialect, t *protocol.Tool, v []byte) *fail { return readString(&t.Name, v) }},
	{"title", optional, since(hasTitles, func(_ *Dialect, t *protocol.Tool, v []byte) *fail { return readString(&t.Title, v) })},
	{"description", optional, func(_ *Dialect, t *protocol.Tool, v []byte) *fail { return readString(&t.Description, v) }},
	{"inputSchema", required, func(_ *Dialect, t *protocol.Tool, v []byte) *fail { return readObject(&t.InputSchema, v) }},
	{"outputSchema", optional, since((*Dialect).StructuredContent, func(_ *Dialect, t *protocol.Tool, v []byte) *fail { return readObject(&t.OutputSchema, v) })},
	{"annotations", optional, since(hasToolAnnotations, func(d *Dialect, t *protocol.Tool, v []byte) *fail {
		return toolAnnotationMembers.decode(d, &t.Annotations, v)
	})},
	{"execution", optional, since((*Dialect).CoreTasks, func(d *Dialect, t *protocol.Tool, v []byte) *fail {
		return executionMembers.decode(d, t, v)
	})},
	{"icons", optional, since(hasIcons, func(d *Dialect, t *protocol.Tool, v []byte) *fail { return readIcons(d, &t.Icons, v) })},
	{"_meta", optional, since(hasMetas, func(_ *Dialect, t *protocol.Tool, v []byte) *fail { return readMeta(&t.Meta, v) })},
}

var executionMembers = fields[protocol.Tool]{
	{"taskSupport", optional, func(_ *Dialect, t *protocol.Tool, v []byte) *fail {
		return readEnum(&t.TaskSupport, v, protocol.TaskForbidden, protocol.TaskOptional, protocol.TaskRequired)
	}},
}

var toolAnnotationMembers = fields[protocol.ToolAnnotations]{
	{"title", optional, func(_ *Dialect, a *protocol.ToolAnnotations, v []byte) *fail { return readString(&a.Title, v) }},
	{"readOnlyHint", optional, func(_ *Dialect, a *protocol.ToolAnnotations, v []byte) *fail {
		return readBoolPtr(&a.ReadOnly, v)
	}},
	{"destructiveHint", optional, func(_ *Dialect, a *protocol.ToolAnnotations, v []byte) *fail {
		return readBoolPtr(&a.Destructive, v)
	}},
	{"idempotentHint", optional, func(_ *Dialect, a *protocol.ToolAnnotations, v []byte) *fail {
		return readBoolPtr(&a.Idempotent, v)
	}},
	{"openWorldHint", optional, func(_ *Dialect, a *protocol.ToolAnnotations, v []byte) *fail {
		return readBoolPtr(&a.OpenWorld, v)
	}},
}

func readTool(d *Dialect, t *protocol.Tool, v []byte) *fail { return toolMembers.decode(d, t, v) }

var resourceMembers = fields[protocol.Resource]{
	{"uri", required, func(_ *Dialect, r *protocol.Resource, v []byte) *fail { return readString(&r.URI, v) }},
	{"name", required, func(_ *Dialect, r *protocol.Resource, v []byte) *fail { return readString(&r.Name, v) }},
	{"title", optional, since(hasTitles, func(_ *Dialect, r *protocol.Resource, v []byte) *fail { return readString(&r.Title, v) })},
	{"description", optional, func(_ *Dialect, r *protocol.Resource, v []byte) *fail { return readString(&r.Description, v) }},
	{"mimeType", optional, func(_ *Dialect, r *protocol.Resource, v []byte) *fail { return readString(&r.MIME, v) }},
	{"size", optional, func(_ *Dialect, r *protocol.Resource, v []byte) *fail { return readInt(&r.Size, v) }},
	{"annotations", optional, func(d *Dialect, r *protocol.Resource, v []byte) *fail {
		return readAnnotations(d, &r.Annotations, v)
	}},
	{"icons", optional, since(hasIcons, func(d *Dialect, r *protocol.Resource, v []byte) *fail { return readIcons(d, &r.Icons, v) })},
	{"_meta", optional, since(hasMetas, func(_ *Dialect, r *protocol.Resource, v []byte) *fail { return readMeta(&r.Meta, v) })},
}

func readResource(d *Dialect, r *protocol.Resource, v []byte) *fail {
	return resourceMembers.decode(d, r, v)
}

var templateMembers = fields[protocol.ResourceTemplate]{
	{"uriTemplate", required, func(_ *Dialect, t *protocol.ResourceTemplate, v []byte) *fail {
		return readString(&t.URITemplate, v)
	}},
	{"name", required, func(_ *Dialect, t *protocol.ResourceTemplate, v []byte) *fail { return readString(&t.Name, v) }},
	{"title", optional, since(hasTitles, func(_ *Dialect, t *protocol.ResourceTemplate, v []byte) *fail { return readString(&t.Title, v) })},
	{"description", optional, func(_ *Dialect, t *protocol.ResourceTemplate, v []byte) *fail {
		return readString(&t.Description, v)
	}},
	{"mimeType", optional, func(_ *Dialect, t *protocol.ResourceTemplate, v []byte) *fail { return readString(&t.MIME, v) }},
	{"annotations", optional, func(d *Dialect, t *protocol.ResourceTemplate, v []byte) *fail {
		return readAnnotations(d, &t.Annotations, v)
	}},
	{"icons", optional, since(hasIcons, func(d *Dialect, t *protocol.ResourceTemplate, v []byte) *fail { return readIcons(d, &t.Icons, v) })},
	{"_meta", optional, since(hasMetas, func(_ *Dialect, t *protocol.ResourceTemplate, v []byte) *fail { return readMeta(&t.Meta, v) })},
}

func readTemplate(d *Dialect, t *protocol.ResourceTemplate, v []byte) *fail {
	return templateMembers.decode(d, t, v)
}

var promptMembers = fields[protocol.Prompt]{
	{"name", required, func(_ *Dialect, p *protocol.Prompt, v []byte) *fail { return readString(&p.Name, v) }},
	{"title", optional, since(hasTitles, func(_ *Dialect, p *protocol.Prompt, v []byte) *fail { return readString(&p.Title, v) })},
	{"description", optional, func(_ *Dialect, p *protocol.Prompt, v []byte) *fail { return readString(&p.Description, v) }},
	{"arguments", optional, func(d *Dialect, p *protocol.Prompt, v []byte) *fail {
		return readList(&p.Arguments, v, func(a *protocol.PromptArgument, v []byte) *fail {
			return promptArgumentMembers.decode(d, a, v)
		})
	}},
	{"icons", optional, since(hasIcons, func(d *Dialect, p *protocol.Prompt, v []byte) *fail { return readIcons(d, &p.Icons, v) })},
	{"_meta", optional, since(hasMetas, func(_ *Dialect, p *protocol.Prompt, v []byte) *fail { return readMeta(&p.Meta, v) })},
}

var promptArgumentMembers = fields[protocol.PromptArgument]{
	{"name", required, func(_ *Dialect, a *protocol.PromptArgument, v []byte) *fail { return readString(&a.Name, v) }},
	{"title", optional, since(hasTitles, func(_ *Dialect, a *protocol.PromptArgument, v []byte) *fail { return readString(&a.Title, v) })},
	{"description", optional, func(_ *Dialect, a *protocol.PromptArgument, v []byte) *fail {
		return readString(&a.Description, v)
	}},
	{"required", optional, func(_ *Dialect, a *protocol.PromptArgument, v []byte) *fail { return readBool(&a.Required, v) }},
}

func readPrompt(d *Dialect, p *protocol.Prompt, v []byte) *fail { return promptMembers.decode(d, p, v) }

var rootMembers = fields[protocol.Root]{
	{"uri", required, func(_ *Dialect, r *protocol.Root, v []byte) *fail { return readString(&r.URI, v) }},
	{"name", optional, func(_ *Dialect, r *protocol.Root, v []byte) *fail { return readString(&r.Name, v) }},
	{"_meta", optional, since(hasMetas, func(_ *Dialect, r *protocol.Root, v []byte) *fail { return readMeta(&r.Meta, v) })},
}

func readRoot(d *Dialect, r *protocol.Root, v []byte) *fail { return rootMembers.decode(d, r, v) }
