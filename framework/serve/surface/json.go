package surface

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/kagami-mcp/kagami/protocol/dialect"
)

// document is a surface as JSON. List is the type of its lists: json.RawMessage to read a document, and
// []json.RawMessage to write one.
type document[List any] struct {
	Server       json.RawMessage `json:"server"`
	Revision     string          `json:"revision"`
	Instructions string          `json:"instructions,omitempty"`
	Tools        List            `json:"tools,omitzero"`
	Resources    List            `json:"resources,omitzero"`
	Templates    List            `json:"resourceTemplates,omitzero"`
	Prompts      List            `json:"prompts,omitzero"`
	*Inside
}

// WriteJSON writes one indented JSON object. It has the server, the revision, the instructions, and
// the lists that were read. If there is an Inside, its members are included. An entry of a list is
// written as the server sent it if Sent has it, and otherwise in the form of the newest revision.
func (s *Surface) WriteJSON(w io.Writer) error {
	d := newest()
	doc := document[[]json.RawMessage]{
		Server: d.AppendImplementation(nil, &s.Server), Revision: s.Revision, Instructions: s.Instructions, Inside: s.Inside,
	}
	if err := errors.Join(
		listed(&doc.Tools, s, Tools, s.Tools, d.AppendTool),
		listed(&doc.Resources, s, Resources, s.Resources, d.AppendResource),
		listed(&doc.Templates, s, Templates, s.Templates, d.AppendTemplate),
		listed(&doc.Prompts, s, Prompts, s.Prompts, d.AppendPrompt),
	); err != nil {
		return err
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(doc)
}

// listed stores the entries of a part in *into. If the part was not read, *into stays nil.
func listed[T any](into *[]json.RawMessage, s *Surface, part Part, items []T, wire func([]byte, *T) ([]byte, error)) error {
	if s.Parts&part == 0 {
		return nil
	}
	sent, raw := s.Sent[lists[part].member]
	*into = append([]json.RawMessage{}, sent...)
	for i := 0; i < len(items) && !raw; i++ {
		entry, err := wire(nil, &items[i])
		if err != nil {
			return err
		}
		*into = append(*into, entry)
	}
	return nil
}

func newest() *dialect.Dialect {
	all := dialect.All()
	return all[len(all)-1]
}
