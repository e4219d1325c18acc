package surface

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// WriteJSON writes one indented JSON object. It has the server, the revision, the instructions, and
// the lists that were read. If there is an Inside, its members are included. An entry of a list is
// written as the server sent it if Sent has it, and otherwise in the form of the newest revision.
func (s *Surface) WriteJSON(w io.Writer) error {
	out, err := s.appendJSON(nil)
	if err != nil {
		return err
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, out, "", "  "); err != nil {
		return err
	}
	pretty.WriteByte('\n')
	_, err = w.Write(pretty.Bytes())
	return err
}

func (s *Surface) appendJSON(dst []byte) ([]byte, error) {
	all := dialect.All()
	newest := all[len(all)-1]
	dst = append(dst, `{"server":`...)
	dst = newest.AppendImplementation(dst, &s.Server)
	dst = append(append(dst, `,"revision":`...), jsontext.Quote(nil, s.Revision)...)
	if s.Instructions != "" {
		dst = append(append(dst, `,"instructions":`...), jsontext.Quote(nil, s.Instructions)...)
	}
	var err error
	list := func(part Part, name string, n int, entry func(dst []byte, i int) ([]byte, error)) {
		if s.Parts&part == 0 || err != nil {
			return
		}
		dst = append(append(append(dst, `,"`...), name...), `":[`...)
		sent, raw := s.Sent[name]
		if raw {
			n = len(sent)
		}
		for i := 0; i < n && err == nil; i++ {
			if i > 0 {
				dst = append(dst, ',')
			}
			if raw {
				dst = append(dst, sent[i]...)
				continue
			}
			dst, err = entry(dst, i)
		}
		dst = append(dst, ']')
	}
	list(Tools, "tools", len(s.Tools), func(dst []byte, i int) ([]byte, error) {
		return newest.AppendTool(dst, &s.Tools[i])
	})
	list(Resources, "resources", len(s.Resources), func(dst []byte, i int) ([]byte, error) {
		return newest.AppendResource(dst, &s.Resources[i])
	})
	list(Templates, "resourceTemplates", len(s.Templates), func(dst []byte, i int) ([]byte, error) {
		return newest.AppendTemplate(dst, &s.Templates[i])
	})
	list(Prompts, "prompts", len(s.Prompts), func(dst []byte, i int) ([]byte, error) {
		return newest.AppendPrompt(dst, &s.Prompts[i])
	})
	if s.Inside != nil && err == nil {
		dst, err = s.Inside.append(dst)
	}
	return append(dst, '}'), err
}
