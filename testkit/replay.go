package testkit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/serve/record"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/inmem"
)

// Replay replays a record of [Session.Record]. It sends the client's frames to the app again, frame
// by frame. The app's frames must equal the record, except redacted texts and times. Each
// difference fails the test. Answers may come in another order, if no frame that the client sent in
// between depends on them.
//
// Redacted values are sent as they are in the record. An exchange that depends on time, such as
// polling a task until it ends, may go differently.
//
// The options Timeout, Store and MayLeave are as for [New], but the default of Timeout is 10 s, for
// one frame. Other options have no effect, because the record determines the revision and the
// caller.
func Replay[A AppSource](t *testing.T, app A, path string, opts ...Option) {
	t.Helper()
	replay(t, app, path, opts)
}

func replay[A AppSource](t testing.TB, app A, path string, opts []Option) {
	t.Helper()
	if slices.Contains(opts, nil) {
		t.Fatalf("testkit: Replay(%q): an Option is nil: remove it", path)
		return
	}
	head, lines, err := loadRecord(path)
	if err != nil {
		t.Fatalf("testkit: Replay(%q): %v", path, err)
		return
	}
	c := newConfig(slices.Concat([]Option{Timeout(replayPatience)}, opts))
	st := newTestServer(t, app, c)
	ctx := t.Context()
	if who := caller(head); who != nil {
		ctx = transport.WithPrincipal(ctx, expanded(st.server, who))
	}
	p := &player{t: t, ctx: ctx, patience: c.timeout, path: path, bound: make(map[string]string), open: make(map[string]bool)}
	_ = st.labeled(t, func() error { p.conn = inmem.Dial(ctx, st.server); return nil })
	t.Cleanup(func() { _ = p.conn.Close() })
	for i, line := range lines {
		p.line = i + 2
		if line.Client != nil {
			p.send(line.Client)
		} else {
			p.expect(line.Server)
		}
	}
	p.drain()
	for _, more := range p.early {
		t.Errorf("testkit: Replay(%q): the server sends what the record does not have\ngot: %s", path, encodeAny(more))
	}
}

func loadRecord(path string) (head record.Head, lines []record.Line, err error) {
	text, err := os.ReadFile(path) //nolint:gosec // the test says which
	if err != nil {
		return head, nil, fmt.Errorf("reading a record: %w", err)
	}
	return record.Read(text)
}

// player is the client of a replay.
type player struct {
	t     testing.TB
	ctx   context.Context //nolint:containedctx // of the test
	conn  transport.Conn
	path  string
	line  int
	bound map[string]string // value in this run, by placeholder
	early []any             // frames that came before they were expected
	open  map[string]bool   // requests without an answer yet, by kindOf their answer
	sent  string            // the last frame sent

	patience time.Duration // how long a frame may take
}

// replayPatience is how long a frame may take without the option Timeout.
const replayPatience = 10 * time.Second

func (p *player) send(frame any) {
	p.t.Helper()
	text, ok := frame.(string) // a frame that is not JSON
	if !ok {
		text = encodeAny(p.resolve(frame))
	}
	p.sent = text
	object, _ := frame.(map[string]any)
	if method := object["method"]; method != nil && object["id"] != nil && method != protocol.MethodListen { // its answer comes only when the client stops listening
		p.open[answerTo(object["id"])] = true
	}
	ctx, cancel := context.WithTimeout(p.ctx, p.patience)
	defer cancel()
	if err := p.conn.Write(ctx, []byte(text)); err != nil {
		p.t.Fatalf("testkit: Replay(%q): line %d cannot be sent: %v\nsent: %s", p.path, p.line, err, text)
	}
}

// resolve replaces placeholders by their values in this run.
func (p *player) resolve(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = p.resolve(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			out[name] = p.resolve(e)
		}
		return out
	case string:
		return p.text(v)
	}
	return v
}

func (p *player) text(v string) string {
	return p.named(strings.ReplaceAll(v, record.Sometime, time.Now().UTC().Format(time.RFC3339Nano)))
}

// named replaces the placeholders that already have a value.
func (p *player) named(v string) string {
	for name, value := range p.bound {
		v = strings.ReplaceAll(v, name, value)
	}
	return v
}

// expect waits for the frame that the record has.
func (p *player) expect(want any) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, p.patience)
	defer cancel()
	for i := 0; ; i++ {
		if i == len(p.early) {
			text, err := p.conn.Read(ctx)
			if err != nil {
				p.t.Fatalf("testkit: Replay(%q): line %d does not come: %v\nsent: %s\nwant: %s", p.path, p.line, err, p.sent, encodeAny(want))
				return
			}
			got, err := decodeAny(text)
			if err != nil {
				p.t.Fatalf("testkit: Replay(%q): the server sends no JSON: %s", p.path, text)
				return
			}
			p.take(got)
		}
		if got := p.early[i]; kindOf(got) == kindOf(want) {
			p.early = append(p.early[:i:i], p.early[i+1:]...)
			p.compare(want, got)
			return
		}
	}
}

func (p *player) take(frame any) {
	delete(p.open, kindOf(frame))
	p.early = append(p.early, frame)
}

// lastPatience is how long drain waits for answers. It is short, because a cancelled request gets
// none.
const lastPatience = 500 * time.Millisecond

// drain waits for answers that the record does not have.
func (p *player) drain() {
	ctx, cancel := context.WithTimeout(p.ctx, lastPatience)
	defer cancel()
	for len(p.open) > 0 {
		text, err := p.conn.Read(ctx)
		if err != nil {
			return
		}
		if got, err := decodeAny(text); err == nil {
			p.take(got)
		}
	}
}

// kindOf returns the key that frames are matched by: the id of the answered request, or the method.
func kindOf(v any) string {
	object, _ := v.(map[string]any)
	if method, ok := object["method"].(string); ok {
		return method
	}
	return answerTo(object["id"])
}

func answerTo(id any) string { return fmt.Sprintf("the answer to %v", id) }

func (p *player) compare(want, got any) {
	p.t.Helper()
	var all []string
	p.differences("", want, got, &all)
	if len(all) > 0 {
		p.t.Errorf("testkit: Replay(%q): line %d is another now\n  %s\nsent: %s\nwant: %s\ngot:  %s",
			p.path, p.line, strings.Join(all, "\n  "), p.sent, encodeAny(want), encodeAny(got))
	}
}

// differences appends the paths where two values differ.
func (p *player) differences(path string, want, got any, into *[]string) {
	switch want := want.(type) {
	case map[string]any:
		if got, ok := got.(map[string]any); ok {
			p.members(path, want, got, into)
			return
		}
	case []any:
		if got, ok := got.([]any); ok && len(got) == len(want) {
			for i := range want {
				p.differences(fmt.Sprintf("%s/%d", path, i), want[i], got[i], into)
			}
			return
		}
	case string:
		text, ok := got.(string)
		if want == record.Redacted || ok && p.same(want, text) {
			return
		}
	default:
		if want == got {
			return
		}
	}
	*into = append(*into, fmt.Sprintf("%s: want %s, got %s", path, encodeAny(want), encodeAny(got)))
}

func (p *player) members(path string, want, got map[string]any, into *[]string) {
	for _, name := range sortedKeys(want) {
		if value, ok := got[name]; ok {
			p.differences(path+"/"+name, want[name], value, into)
		} else {
			*into = append(*into, fmt.Sprintf("%s/%s is gone, want %s", path, name, encodeAny(want[name])))
		}
	}
	for _, name := range sortedKeys(got) {
		if _, ok := want[name]; !ok {
			*into = append(*into, fmt.Sprintf("%s/%s is new: %s", path, name, encodeAny(got[name])))
		}
	}
}

// same compares texts. At the first occurrence of a placeholder, it stores the placeholder's value.
func (p *player) same(want, got string) bool {
	switch {
	case want == record.Sometime:
		_, err := time.Parse(time.RFC3339Nano, got)
		return err == nil
	case strings.HasPrefix(want, "<") && strings.HasSuffix(want, ">") && isName(want):
		if _, known := p.bound[want]; !known {
			p.bound[want] = got
		}
		return p.bound[want] == got
	}
	return matches(p.named(want), got)
}

// matches compares texts. Any text matches a redacted part of want, a time, or a placeholder
// without a value.
func matches(want, got string) bool {
	parts := unknown().Split(want, -1)
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		return want == got
	}
	got, begins := strings.CutPrefix(got, first)
	got, ends := strings.CutSuffix(got, last)
	for _, part := range parts[1 : len(parts)-1] {
		var found bool
		if _, got, found = strings.Cut(got, part); !found {
			return false
		}
	}
	return begins && ends
}

// unknown matches the placeholders that any text matches.
func unknown() *regexp.Regexp {
	return regexp.MustCompile(record.Redacted + "|" + record.Sometime + "|<(" + strings.Join(record.Varying(), "|") + `) \d+>`)
}

func isName(s string) bool {
	member, _, ok := strings.Cut(s[1:len(s)-1], " ")
	return ok && slices.Contains(record.Varying(), member)
}

// encodeAny returns the JSON of a value, for messages and for frames to send.
func encodeAny(v any) string {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(text.String(), "\n")
}

func decodeAny(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err = d.Decode(&v); err == nil && d.More() {
		err = fmt.Errorf("more than one JSON text: %s", text)
	}
	return v, err
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
