// Package conform checks whether a server follows rules of the specification. It calls no existing
// tool, and changes nothing.
package conform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Verdict is the outcome of a rule for a server.
type Verdict string

// Verdicts.
const (
	Kept    Verdict = "kept"
	Broken  Verdict = "broken"  // the server breaks a MUST
	Ignored Verdict = "ignored" // the server does not follow a SHOULD
	Skipped Verdict = "skipped" // the rule does not apply to the server
)

// Finding is the verdict of one rule at one revision.
type Finding struct {
	Revision string  `json:"revision"`
	Rule     string  `json:"rule"`
	Source   string  `json:"source"` // page of the specification
	Verdict  Verdict `json:"verdict"`
	Why      string  `json:"why,omitempty"` // what is wrong
}

// rule is one rule of the specification.
type rule struct {
	name   string
	source string
	should bool // the rule is a SHOULD
	since  bool // applies only to revisions with discovery
	until  bool // applies only to revisions with a handshake
	check  func(ctx context.Context, p *probe) error
}

// errSkipped means that a rule does not apply to the server.
var errSkipped = errors.New("skipped")

// probe sends the requests of the rules to one server at one revision.
type probe struct {
	c    *client.Client
	d    *dialect.Dialect
	has  protocol.ServerCapabilities
	held map[list][][]byte // lists that were read

	asked int    // id of the last request
	meta  string // _meta of each request at a revision without a handshake
}

// Check checks a server at the revision that the client has negotiated. It returns an error if the connection
// fails or ctx ends.
func Check(ctx context.Context, c *client.Client) ([]Finding, error) {
	rev, known := protocol.ParseRevision(c.Revision())
	if !known {
		return nil, fmt.Errorf("the server uses %q, which is not a known revision", c.Revision())
	}
	p := &probe{c: c, d: dialect.Of(rev), has: c.Capabilities(), held: map[list][][]byte{}}
	p.meta = fmt.Sprintf(`{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientInfo":{"name":"kagami conformance","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`, rev)
	var found []Finding
	for i := range rules {
		r := &rules[i]
		if r.since && p.d.ServerRequests() || r.until && !p.d.ServerRequests() {
			continue
		}
		f := Finding{Revision: c.Revision(), Rule: r.name, Source: r.source, Verdict: Kept}
		switch err := r.check(ctx, p); {
		case ctx.Err() != nil:
			return found, ctx.Err()
		case errors.Is(err, errSkipped):
			f.Verdict = Skipped
		case err != nil && r.should:
			f.Verdict, f.Why = Ignored, err.Error()
		case err != nil:
			f.Verdict, f.Why = Broken, err.Error()
		}
		found = append(found, f)
	}
	return found, nil
}

// ask returns the result of a request, or the code of its error. params is a JSON object.
func (p *probe) ask(ctx context.Context, method, params string) (result json.RawMessage, code int, err error) {
	p.asked++ // no conflict: the client's own ids are above 1000
	if !p.d.ServerRequests() {
		params = withMember(params, "_meta", p.meta)
	}
	frame := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, p.asked, method, params)
	answer, err := p.c.Exchange(ctx, frame)
	if err != nil {
		return nil, 0, err
	}
	var response struct {
		Result json.RawMessage
		Error  *struct{ Code int }
	}
	if err := json.Unmarshal(answer, &response); err != nil {
		return nil, 0, fmt.Errorf("the response is not JSON: %w", err)
	}
	switch {
	case response.Error != nil:
		return nil, response.Error.Code, nil
	case len(response.Result) == 0:
		return nil, 0, fmt.Errorf("the response has no result and no error: %s", clip(answer))
	}
	return response.Result, 0, nil
}

// withMember adds a member to an object.
func withMember(object, name, value string) string {
	if object == "{}" {
		return fmt.Sprintf("{%q:%s}", name, value)
	}
	return fmt.Sprintf("%s,%q:%s}", object[:len(object)-1], name, value)
}

// result returns the result of a request that the server must answer.
func (p *probe) result(ctx context.Context, method, params string) (json.RawMessage, error) {
	result, code, err := p.ask(ctx, method, params)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s is not answered: %w", method, err)
	case code != 0:
		return nil, fmt.Errorf("%s is refused with %d", method, code)
	}
	return result, nil
}

// refuses checks that a request is refused with one of the codes.
func (p *probe) refuses(ctx context.Context, method, params string, codes ...int) error {
	result, code, err := p.ask(ctx, method, params)
	switch {
	case err != nil:
		return fmt.Errorf("%s is not answered: %w", method, err)
	case code == 0:
		return fmt.Errorf("%s with %s is answered with a result: %s", method, params, clip(result))
	case !slices.Contains(codes, code):
		return fmt.Errorf("%s with %s is refused with %d, not with %d", method, params, code, codes[0])
	}
	return nil
}

// clip shortens JSON of a server for a message.
func clip(raw []byte) string {
	return jsontext.Clip(string(raw), 200)
}

// list is a list of a server: its method, and the member of the result with its entries. The name of the
// member is also the name of the capability.
type list struct{ method, member string }

var (
	listTools     = list{protocol.MethodListTools, "tools"}
	listResources = list{protocol.MethodListResources, "resources"}
	listPrompts   = list{protocol.MethodListPrompts, "prompts"}

	lists = []list{listTools, listResources, listPrompts}
)

// offers reports whether the server has a capability. Without prompts, there is nothing to complete.
func (p *probe) offers(capability string) bool {
	return map[string]bool{
		"tools": p.has.Tools, "resources": p.has.Resources, "prompts": p.has.Prompts,
		"completions": p.has.Completions && p.has.Prompts, "logging": p.has.Logging,
	}[capability]
}

// entries returns all entries of a list.
func (p *probe) entries(ctx context.Context, l list) ([][]byte, error) {
	if !p.offers(l.member) {
		return nil, errSkipped
	}
	if held, read := p.held[l]; read {
		return held, nil
	}
	entries, err := p.readList(ctx, l)
	if err == nil {
		p.held[l] = entries
	}
	return entries, err
}

// mostPages is the maximum number of pages that are read of a list.
const mostPages = 500

func (p *probe) readList(ctx context.Context, l list) ([][]byte, error) {
	entries := [][]byte{}
	params := `{}`
	for range mostPages {
		result, err := p.result(ctx, l.method, params)
		if err != nil {
			return nil, err
		}
		sent, _ := jsontext.Member(result, l.member)
		if jsontext.KindOf(sent) != jsontext.KindArray {
			return nil, fmt.Errorf("the result of %s has no list %q: %s", l.method, l.member, clip(result))
		}
		entries = slices.AppendSeq(entries, jsontext.Elements(sent))
		cursor, more := jsontext.Member(result, "nextCursor")
		if !more || jsontext.KindOf(cursor) == jsontext.KindNull {
			return entries, nil
		}
		params = withMember(`{}`, "cursor", string(cursor))
	}
	return nil, fmt.Errorf("%s has more than %d pages", l.method, mostPages)
}
