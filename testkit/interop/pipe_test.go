package interop_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"testing"
)

// pipe speaks with a server over stdio as bytes, one request at a time: the
// clients of others read numbers as floats.
type pipe struct {
	in   io.Writer
	out  *bufio.Reader
	meta string
	id   int
}

type listedTool struct {
	Name         string          `json:"name"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
}

func open(t *testing.T, command, version string) *pipe {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	p := &pipe{in: in, out: bufio.NewReader(out)}
	if version == "2026-07-28" {
		p.meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
		return p
	}
	p.request(t, "initialize", `"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"c","version":"1"}`, nil)
	if _, err := fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); err != nil {
		t.Fatal(err)
	}
	return p
}

// request sends the members of params and reads the result into into.
func (p *pipe) request(t *testing.T, method, params string, into any) {
	t.Helper()
	p.id++
	if params != "" {
		params += p.meta
	} else if p.meta != "" {
		params = p.meta[1:]
	}
	if _, err := fmt.Fprintf(p.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`+"\n", p.id, method, params); err != nil {
		t.Fatal(err)
	}
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		ID     int             `json:"id"`
		Result json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal(line, &answer); err != nil || answer.ID != p.id || answer.Result == nil {
		t.Fatalf("%s(%s): %v: %s", method, params, err, line)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(answer.Result, into); err != nil {
		t.Fatal(err)
	}
}

// tools collects all pages.
func (p *pipe) tools(t *testing.T) map[string]listedTool {
	t.Helper()
	all := map[string]listedTool{}
	cursor := ""
	for {
		var page struct {
			Tools      []listedTool `json:"tools"`
			NextCursor string       `json:"nextCursor"`
		}
		p.request(t, "tools/list", cursor, &page)
		for _, tool := range page.Tools {
			all[tool.Name] = tool
		}
		if page.NextCursor == "" {
			return all
		}
		cursor = fmt.Sprintf(`"cursor":%q`, page.NextCursor)
	}
}

// call returns the structured content of a call that must succeed.
func (p *pipe) call(t *testing.T, name string, args json.RawMessage) json.RawMessage {
	t.Helper()
	var r struct {
		IsError           bool            `json:"isError"`
		StructuredContent json.RawMessage `json:"structuredContent"`
	}
	p.request(t, "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, name, args), &r)
	if r.IsError || r.StructuredContent == nil {
		t.Fatalf("%s(%s): error %v, structured content %s", name, args, r.IsError, r.StructuredContent)
	}
	return r.StructuredContent
}
