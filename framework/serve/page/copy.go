package page

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// getCopy answers with a call in another form: a command, a test, Go code or curl.
func (p *Page) getCopy(w http.ResponseWriter, r *http.Request) error {
	one := p.calls.get(r.PathValue("id"))
	if one == nil {
		return refuse(http.StatusNotFound, "this call is not kept any more")
	}
	written := map[string]func(*call) string{"shell": p.asShell, "test": p.asTest, "client": p.asClient, "curl": p.asCurl}[r.PathValue("as")]
	if written == nil {
		return refuse(http.StatusNotFound, "a call is copied as shell, test, client or curl")
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(written(one))) // a browser that is gone does not matter
	return nil
}

// asShell returns the kagami command that makes the call.
func (p *Page) asShell(c *call) string {
	command := map[string]string{protocol.MethodCallTool: "call", protocol.MethodReadResource: "read", protocol.MethodGetPrompt: "prompt"}[c.Method]
	if command == "" {
		command = "inspect"
	}
	server, after := p.serverInShell(), ""
	if p.options.URL == "" && len(p.options.Start) > 1 { // a program with arguments
		server, after = "", " -- "+words(p.options.Start)
	}
	line := "kagami " + command + server
	if command != "inspect" {
		line += " " + quoted(c.Name)
	}
	switch {
	case c.Method == protocol.MethodGetPrompt:
		line += pairs(c.Arguments)
	case len(c.Arguments) > 0 && string(c.Arguments) != "{}":
		line += " " + unmasked(string(c.Arguments))
	}
	return line + after + "\n"
}

// pairs returns the arguments of a prompt as words after a space. They are texts, and the command does
// not take them as JSON. A text that begins with @ would name a file.
func pairs(arguments json.RawMessage) string {
	if jsontext.KindOf(arguments) != jsontext.KindObject {
		return ""
	}
	var out strings.Builder
	for key, value := range jsontext.Members(arguments) {
		text, _ := jsontext.String(value)
		if strings.HasPrefix(text, "@") {
			text = "@" + text
		}
		out.WriteString(" " + unmasked(key.String()+"="+text))
	}
	return out.String()
}

// serverInShell returns the server as a word of a command, after a space.
func (p *Page) serverInShell() string {
	if p.options.URL == "" {
		return " " + quoted(p.where())
	}
	line := " " + quoted(redacted(p.options.URL))
	if p.hasBearer() {
		line += ` --bearer "$KAGAMI_BEARER"`
	}
	return line
}

// plain matches a word that does not need quotes in a POSIX shell.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./:=@%+,-]+$`)

// quoted returns a word for a POSIX shell.
func quoted(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// unmasked returns a quoted word that has the variable SECRET in place of a masked secret.
func unmasked(text string) string {
	return strings.ReplaceAll(quoted(text), "•••", `'"$SECRET"'`)
}

// asTest returns a test that uses package testkit and expects the answer of the call.
func (p *Page) asTest(c *call) string {
	if c.Method != protocol.MethodCallTool {
		return "// Tests are written for calls of tools.\n"
	}
	var out strings.Builder
	_, _ = fmt.Fprintf(&out, "// app is the server's own: see the guide on testing.\nfunc Test%s(t *testing.T) {\n", goName(c.Name))
	_, _ = fmt.Fprintf(&out, "\ts := testkit.New(t, app, testkit.At(protocol.Rev%s))\n", goName(c.Revision))
	for _, q := range askedIn(p.wire.ofCall(c.ID)) {
		out.WriteString(q.scripted())
	}
	_, _ = fmt.Fprintf(&out, "\tanswer := s.CallRaw(%s, %s)\n", strconv.Quote(c.Name), goWithSecret(orEmpty(c.Arguments)))
	judge := "OK"
	switch {
	case c.Phase != phaseResult:
		out.WriteString("\tanswer.OK() // the call that was copied had no result\n}\n")
		return out.String()
	case c.IsError:
		judge = "IsError"
		out.WriteString("\t// The call failed. If it should not, write OK instead of IsError, and the right text.\n")
	}
	_, _ = fmt.Fprintf(&out, "\tif got, want := answer.%s().Text(), %s; got != want {\n\t\tt.Errorf(\"got %%s, want %%s\", got, want)\n\t}\n}\n", judge, goRaw(textOf(c.Result)))
	return out.String()
}

// asClient returns Go code that makes the call with package client.
func (p *Page) asClient(c *call) string {
	name := strconv.Quote(c.Name)
	program := []string{p.where()}
	if len(p.options.Start) > 0 {
		program = p.options.Start
	}
	to := fmt.Sprintf("client.Command(exec.Command(%s))", strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%#v", program), "[]string{"), "}"))
	if p.options.URL != "" {
		token := ""
		if p.hasBearer() {
			token = `, client.BearerToken(func(context.Context) (string, error) { return os.Getenv("KAGAMI_BEARER"), nil })`
		}
		to = fmt.Sprintf("client.HTTP(%s%s)", strconv.Quote(redacted(p.options.URL)), token)
	}
	var request string
	switch c.Method {
	case protocol.MethodReadResource:
		request = fmt.Sprintf("result, err := c.ReadResource(ctx, %s)", name)
	case protocol.MethodGetPrompt:
		request = fmt.Sprintf("result, err := c.GetPrompt(ctx, %s, map[string]string%s)", name, goMap(c.Arguments))
	case protocol.MethodSubscribe:
		request = fmt.Sprintf("updates, err := c.Subscribe(ctx, %s)", name)
	case protocol.MethodTaskResult:
		request = fmt.Sprintf("result, err := c.Task(%s).Wait(ctx)", name)
	case protocol.MethodPing:
		request = "err = c.Ping(ctx)"
	default:
		request = fmt.Sprintf("result, err := c.CallTool(ctx, %s, json.RawMessage(%s))", name, goWithSecret(orEmpty(c.Arguments)))
	}
	return fmt.Sprintf("c, err := client.Connect(ctx, %s)\nif err != nil {\n\treturn err\n}\ndefer c.Close()\n%s\n", to, request)
}

// asCurl returns a curl command for the request over HTTP of 2026-07-28. Older revisions need a
// session first.
func (p *Page) asCurl(c *call) string {
	address, before := p.options.URL, ""
	if address == "" {
		address = "http://127.0.0.1:8080/mcp"
		before = "# This server is on stdio. Serve it over HTTP first, for example with --http 127.0.0.1:8080.\n"
	}
	params, err := (&order{Method: c.Method, Name: c.Name, Arguments: c.Arguments}).params()
	if err != nil || len(params) == 0 {
		params = json.RawMessage("{}")
	}
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"curl","version":"8"},"io.modelcontextprotocol/clientCapabilities":{}}}`
	whole := strings.TrimSuffix(string(params), "}")
	if whole != "{" {
		whole += ","
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s%s}`, c.Method, whole, meta)
	lines := []string{
		"curl -s " + quoted(redacted(address)), "-H 'Content-Type: application/json'", "-H 'Accept: application/json, text/event-stream'",
		"-H 'MCP-Protocol-Version: 2026-07-28'", "-H " + quoted("Mcp-Method: "+c.Method),
	}
	if name, named := dialect.MirrorName(c.Method, params); named {
		lines = append(lines, "-H "+quoted("Mcp-Name: "+dialect.EncodeMirror(name)))
	}
	mirrors, _ := dialect.Mirrors(p.schemaOf(c.Name, "inputSchema")) // a tool with a fault in them is not served over HTTP
	for _, m := range mirrors {
		if text, given := m.Value(c.Arguments); given && c.Method == protocol.MethodCallTool {
			lines = append(lines, "-H "+quoted(m.Header+": "+dialect.EncodeMirror(text)))
		}
	}
	if p.hasBearer() {
		lines = append(lines, `-H "Authorization: Bearer $KAGAMI_BEARER"`)
	}
	lines = append(lines, "-d "+unmasked(body))
	return before + strings.Join(lines, " \\\n  ") + "\n"
}

func orEmpty(arguments json.RawMessage) string {
	if len(arguments) == 0 {
		return "{}"
	}
	return string(arguments)
}

// goRaw returns a Go string literal, without escapes if possible.
func goRaw(text string) string {
	if strconv.CanBackquote(text) {
		return "`" + text + "`"
	}
	return strconv.Quote(text)
}

// goWithSecret returns a Go expression for a text that has the environment variable SECRET in place of
// a masked secret.
func goWithSecret(text string) string {
	if !strings.Contains(text, "•••") {
		return goRaw(text)
	}
	return "strings.ReplaceAll(" + goRaw(text) + `, "•••", os.Getenv("SECRET"))`
}

func goMap(arguments json.RawMessage) string {
	var values map[string]string
	if json.Unmarshal(arguments, &values) != nil {
		return "{}"
	}
	literal := strings.TrimPrefix(fmt.Sprintf("%#v", values), "map[string]string")
	return strings.ReplaceAll(literal, `"•••"`, `os.Getenv("SECRET")`)
}

// inName matches the parts of a tool's name that a Go name may contain.
var inName = regexp.MustCompile(`[A-Za-z0-9]+`)

// goName returns an exported Go name for a test of a tool.
func goName(name string) string {
	var out strings.Builder
	for _, part := range inName.FindAllString(name, -1) {
		out.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return out.String()
}

// textOf returns the text of a result as Text of testkit's Answer does: the texts, the texts of
// embedded resources, and the words of links.
func textOf(result json.RawMessage) string {
	var r struct {
		Content []struct {
			Type, Text, URI, Name, Title, Description string

			Resource struct {
				Text string
				Blob *string
			}
		}
	}
	_ = json.Unmarshal(result, &r) // a result of another shape has no texts
	var texts []string
	for _, b := range r.Content {
		switch {
		case b.Type == "text":
			texts = append(texts, b.Text)
		case b.Type == "resource" && b.Resource.Blob == nil:
			texts = append(texts, b.Resource.Text)
		case b.Type == "resource_link":
			texts = append(texts, strings.TrimSpace(cmp.Or(b.Title, b.Name)+" "+b.URI+" "+b.Description))
		}
	}
	return strings.Join(texts, "\n")
}
