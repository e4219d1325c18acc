package dialect

import (
	"fmt"

	"github.com/kagami-mcp/kagami/protocol"
)

// AppendTool appends one entry of tools/list. If the output schema does not describe an object, it
// is written unchanged on 2026-07-28 and wrapped on older revisions; see [WrapsOutput]. An input
// schema without a type gets "type":"object". AppendTool returns an error if the type of a schema
// cannot be an object.
func (d *Dialect) AppendTool(dst []byte, t *protocol.Tool) ([]byte, error) {
	return encode(d, dst, toolMembers, t)
}

// AppendResource appends one entry of resources/list.
func (d *Dialect) AppendResource(dst []byte, r *protocol.Resource) ([]byte, error) {
	return encode(d, dst, resourceMembers, r)
}

// AppendTemplate appends one entry of resources/templates/list.
func (d *Dialect) AppendTemplate(dst []byte, t *protocol.ResourceTemplate) ([]byte, error) {
	return encode(d, dst, templateMembers, t)
}

// AppendPrompt appends one entry of prompts/list.
func (d *Dialect) AppendPrompt(dst []byte, p *protocol.Prompt) ([]byte, error) {
	return encode(d, dst, promptMembers, p)
}

// AppendImplementation appends an Implementation: serverInfo or clientInfo. If the theme of an icon is
// unknown, it leaves out the icons.
func (d *Dialect) AppendImplementation(dst []byte, i *protocol.Implementation) []byte {
	b, err := implementationMembers.append(d, dst, i)
	if err != nil { // of an icon, because texts do not fail
		plain := *i
		plain.Icons = nil
		b, _ = implementationMembers.append(d, dst, &plain)
	}
	return b
}

var implementationMembers = rows[protocol.Implementation](
	required("name", str, func(i *protocol.Implementation) *string { return &i.Name }).
		reading(func(d *Dialect, i *protocol.Implementation, v []byte) *fail { return readString(d, &i.Name, v) }),
	optional("title", str, func(i *protocol.Implementation) *string { return &i.Title }).only(titled),
	required("version", str, func(i *protocol.Implementation) *string { return &i.Version }).
		reading(func(d *Dialect, i *protocol.Implementation, v []byte) *fail { return readString(d, &i.Version, v) }),
	optional("description", str, func(i *protocol.Implementation) *string { return &i.Description }).only(illustrated),
	optional("websiteUrl", str, func(i *protocol.Implementation) *string { return &i.WebsiteURL }).only(illustrated),
	optional("icons", list(icon), func(i *protocol.Implementation) *[]protocol.Icon { return &i.Icons }).only(illustrated),
)

var icon = object(iconMembers)

var iconMembers = rows[protocol.Icon](
	required("src", str, func(i *protocol.Icon) *string { return &i.Src }),
	optional("mimeType", str, func(i *protocol.Icon) *string { return &i.MIMEType }),
	optional("sizes", list(str), func(i *protocol.Icon) *[]string { return &i.Sizes }),
	optional("theme", checked("an icon has the theme %q: want light or dark", "", "light", "dark"), func(i *protocol.Icon) *string { return &i.Theme }),
)

var toolMembers = rows[protocol.Tool](
	required("name", str, func(t *protocol.Tool) *string { return &t.Name }),
	optional("title", str, func(t *protocol.Tool) *string { return &t.Title }).only(titled),
	optional("description", str, func(t *protocol.Tool) *string { return &t.Description }),
	whole("inputSchema", inputSchema).requiredIn(always),
	whole("outputSchema", outputSchema).since(protocol.Rev20250618),
	whole("annotations", toolAnnotations).since(protocol.Rev20250326),
	whole("execution", filled(executionMembers)).only(coreTasks),
	optional("icons", list(icon), func(t *protocol.Tool) *[]protocol.Icon { return &t.Icons }).only(illustrated),
	optional("_meta", meta, func(t *protocol.Tool) *protocol.Meta { return &t.Meta }).only(extended),
)

var inputSchema = kind[protocol.Tool]{
	read: func(d *Dialect, t *protocol.Tool, v []byte) *fail { return readObject(d, &t.InputSchema, v) },
	write: func(d *Dialect, dst []byte, t *protocol.Tool) ([]byte, error) {
		w := d.writer(dst)
		if err := w.inputSchema(t.InputSchema); err != nil {
			return dst, fmt.Errorf("input schema of tool %s: %w", t.Name, err)
		}
		return w.ended()
	},
}

var outputSchema = kind[protocol.Tool]{
	read: func(d *Dialect, t *protocol.Tool, v []byte) *fail { return readObject(d, &t.OutputSchema, v) },
	write: func(d *Dialect, dst []byte, t *protocol.Tool) ([]byte, error) {
		w := d.writer(dst)
		if err := w.outputSchema(t.OutputSchema); err != nil {
			return dst, fmt.Errorf("output schema of tool %s: %w", t.Name, err)
		}
		return w.ended()
	},
	none: func(t *protocol.Tool) bool { return len(t.OutputSchema) == 0 },
}

var executionMembers = rows[protocol.Tool](
	optional("taskSupport", enum(protocol.TaskForbidden, protocol.TaskOptional, protocol.TaskRequired),
		func(t *protocol.Tool) *protocol.TaskSupport { return &t.TaskSupport }),
)

// toolAnnotations are the annotations of a tool. Before 2025-06-18 the only title of a tool is in
// its annotations.
var toolAnnotations = kind[protocol.Tool]{
	read: func(d *Dialect, t *protocol.Tool, v []byte) *fail {
		return toolAnnotationMembers.decode(d, &t.Annotations, v)
	},
	write: func(d *Dialect, dst []byte, t *protocol.Tool) ([]byte, error) {
		a := &t.Annotations
		if !titled.has(d) && a.Title == "" && t.Title != "" {
			titled := *a
			titled.Title = t.Title
			a = &titled
		}
		return filled(toolAnnotationMembers).write(d, dst, a)
	},
}

var toolAnnotationMembers = rows[protocol.ToolAnnotations](
	optional("title", str, func(a *protocol.ToolAnnotations) *string { return &a.Title }),
	optional("readOnlyHint", pointer(boolean), func(a *protocol.ToolAnnotations) **bool { return &a.ReadOnly }),
	optional("destructiveHint", pointer(boolean), func(a *protocol.ToolAnnotations) **bool { return &a.Destructive }),
	optional("idempotentHint", pointer(boolean), func(a *protocol.ToolAnnotations) **bool { return &a.Idempotent }),
	optional("openWorldHint", pointer(boolean), func(a *protocol.ToolAnnotations) **bool { return &a.OpenWorld }),
)

var resourceMembers = rows[protocol.Resource](
	required("uri", str, func(r *protocol.Resource) *string { return &r.URI }),
	required("name", str, func(r *protocol.Resource) *string { return &r.Name }),
	optional("title", str, func(r *protocol.Resource) *string { return &r.Title }).only(titled),
	optional("description", str, func(r *protocol.Resource) *string { return &r.Description }),
	optional("mimeType", str, func(r *protocol.Resource) *string { return &r.MIME }),
	optional("size", integer[int64](), func(r *protocol.Resource) *int64 { return &r.Size }),
	optional("annotations", annotations, func(r *protocol.Resource) **protocol.Annotations { return &r.Annotations }),
	optional("icons", list(icon), func(r *protocol.Resource) *[]protocol.Icon { return &r.Icons }).only(illustrated),
	optional("_meta", meta, func(r *protocol.Resource) *protocol.Meta { return &r.Meta }).only(extended),
)

var templateMembers = rows[protocol.ResourceTemplate](
	required("uriTemplate", str, func(t *protocol.ResourceTemplate) *string { return &t.URITemplate }),
	required("name", str, func(t *protocol.ResourceTemplate) *string { return &t.Name }),
	optional("title", str, func(t *protocol.ResourceTemplate) *string { return &t.Title }).only(titled),
	optional("description", str, func(t *protocol.ResourceTemplate) *string { return &t.Description }),
	optional("mimeType", str, func(t *protocol.ResourceTemplate) *string { return &t.MIME }),
	optional("annotations", annotations, func(t *protocol.ResourceTemplate) **protocol.Annotations { return &t.Annotations }),
	optional("icons", list(icon), func(t *protocol.ResourceTemplate) *[]protocol.Icon { return &t.Icons }).only(illustrated),
	optional("_meta", meta, func(t *protocol.ResourceTemplate) *protocol.Meta { return &t.Meta }).only(extended),
)

var promptMembers = rows[protocol.Prompt](
	required("name", str, func(p *protocol.Prompt) *string { return &p.Name }),
	optional("title", str, func(p *protocol.Prompt) *string { return &p.Title }).only(titled),
	optional("description", str, func(p *protocol.Prompt) *string { return &p.Description }),
	optional("arguments", list(object(promptArgumentMembers)), func(p *protocol.Prompt) *[]protocol.PromptArgument { return &p.Arguments }),
	optional("icons", list(icon), func(p *protocol.Prompt) *[]protocol.Icon { return &p.Icons }).only(illustrated),
	optional("_meta", meta, func(p *protocol.Prompt) *protocol.Meta { return &p.Meta }).only(extended),
)

var promptArgumentMembers = rows[protocol.PromptArgument](
	required("name", str, func(a *protocol.PromptArgument) *string { return &a.Name }),
	optional("title", str, func(a *protocol.PromptArgument) *string { return &a.Title }).only(titled),
	optional("description", str, func(a *protocol.PromptArgument) *string { return &a.Description }),
	optional("required", boolean, func(a *protocol.PromptArgument) *bool { return &a.Required }),
)

var rootMembers = rows[protocol.Root](
	required("uri", str, func(r *protocol.Root) *string { return &r.URI }),
	optional("name", str, func(r *protocol.Root) *string { return &r.Name }),
	optional("_meta", meta, func(r *protocol.Root) *protocol.Meta { return &r.Meta }).only(extended),
)
