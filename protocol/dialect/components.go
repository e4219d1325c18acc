package dialect

import (
	"github.com/kagami-mcp/kagami/protocol"
)

// AppendTool appends one entry of tools/list. If the output schema does not describe an object, it
// is written unchanged on 2026-07-28 and wrapped on older revisions; see [WrapsOutput]. An input
// schema without a type gets "type":"object". AppendTool returns an error if the type of a schema
// cannot be an object.
func (d *Dialect) AppendTool(dst []byte, t *protocol.Tool) ([]byte, error) {
	w := d.writer(dst)
	w.tool(t)
	return w.done()
}

// AppendResource appends one entry of resources/list.
func (d *Dialect) AppendResource(dst []byte, r *protocol.Resource) ([]byte, error) {
	w := d.writer(dst)
	w.resource(r)
	return w.done()
}

// AppendTemplate appends one entry of resources/templates/list.
func (d *Dialect) AppendTemplate(dst []byte, t *protocol.ResourceTemplate) ([]byte, error) {
	w := d.writer(dst)
	w.template(t)
	return w.done()
}

// AppendPrompt appends one entry of prompts/list.
func (d *Dialect) AppendPrompt(dst []byte, p *protocol.Prompt) ([]byte, error) {
	w := d.writer(dst)
	w.prompt(p)
	return w.done()
}

// AppendImplementation appends an Implementation: serverInfo or clientInfo.
func (d *Dialect) AppendImplementation(dst []byte, i *protocol.Implementation) []byte {
	w := d.writer(dst)
	w.open('{')
	w.str("name", i.Name)
	w.title(i.Title)
	w.str("version", i.Version)
	if d.icons {
		w.text("description", i.Description)
		w.text("websiteUrl", i.WebsiteURL)
		w.icons(i.Icons)
	}
	w.shut('}')
	return w.b
}

func (w *writer) implementation(name string, i *protocol.Implementation) {
	w.key(name)
	w.b = w.d.AppendImplementation(w.b, i)
}

func (w *writer) tool(t *protocol.Tool) {
	w.open('{')
	w.str("name", t.Name)
	w.title(t.Title)
	w.text("description", t.Description)
	w.key("inputSchema")
	if err := w.inputSchema(t.InputSchema); err != nil {
		w.fail("input schema of tool %s: %w", t.Name, err)
	}
	if len(t.OutputSchema) > 0 && w.d.structuredContent {
		w.key("outputSchema")
		if err := w.outputSchema(t.OutputSchema); err != nil {
			w.fail("output schema of tool %s: %w", t.Name, err)
		}
	}
	w.toolAnnotations(t)
	w.execution(t.TaskSupport)
	w.icons(t.Icons)
	w.meta(t.Meta)
	w.shut('}')
}

// toolAnnotations writes the annotations of a tool. Before 2025-06-18 the only title of a tool is
// in its annotations.
func (w *writer) toolAnnotations(t *protocol.Tool) {
	a := t.Annotations
	if !w.d.titles && a.Title == "" {
		a.Title = t.Title
	}
	if !w.d.toolAnnotations || a == (protocol.ToolAnnotations{}) {
		return
	}
	w.key("annotations")
	w.open('{')
	w.text("title", a.Title)
	w.boolPtr("readOnlyHint", a.ReadOnly)
	w.boolPtr("destructiveHint", a.Destructive)
	w.boolPtr("idempotentHint", a.Idempotent)
	w.boolPtr("openWorldHint", a.OpenWorld)
	w.shut('}')
}

func (w *writer) execution(s protocol.TaskSupport) {
	if s == "" || !w.d.coreTasks {
		return
	}
	w.key("execution")
	w.open('{')
	w.str("taskSupport", string(s))
	w.shut('}')
}

func (w *writer) resource(r *protocol.Resource) {
	w.open('{')
	w.str("uri", r.URI)
	w.str("name", r.Name)
	w.title(r.Title)
	w.text("description", r.Description)
	w.text("mimeType", r.MIME)
	w.count("size", r.Size)
	w.annotations(r.Annotations)
	w.icons(r.Icons)
	w.meta(r.Meta)
	w.shut('}')
}

func (w *writer) template(t *protocol.ResourceTemplate) {
	w.open('{')
	w.str("uriTemplate", t.URITemplate)
	w.str("name", t.Name)
	w.title(t.Title)
	w.text("description", t.Description)
	w.text("mimeType", t.MIME)
	w.annotations(t.Annotations)
	w.icons(t.Icons)
	w.meta(t.Meta)
	w.shut('}')
}

func (w *writer) prompt(p *protocol.Prompt) {
	w.open('{')
	w.str("name", p.Name)
	w.title(p.Title)
	w.text("description", p.Description)
	if len(p.Arguments) > 0 {
		w.key("arguments")
		w.open('[')
		for i := range p.Arguments {
			w.comma()
			w.promptArgument(&p.Arguments[i])
		}
		w.shut(']')
	}
	w.icons(p.Icons)
	w.meta(p.Meta)
	w.shut('}')
}

func (w *writer) promptArgument(a *protocol.PromptArgument) {
	w.open('{')
	w.str("name", a.Name)
	w.title(a.Title)
	w.text("description", a.Description)
	w.flag("required", a.Required)
	w.shut('}')
}

func (w *writer) root(r *protocol.Root) {
	w.open('{')
	w.str("uri", r.URI)
	w.text("name", r.Name)
	w.meta(r.Meta)
	w.shut('}')
}
