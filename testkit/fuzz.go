package testkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// fuzzPatience is how long one call may take: fuzzing should find arguments that make a handler
// slow.
const fuzzPatience = 5 * time.Second

// FuzzTool seeds f from the tool's schema, with a valid call and the mistakes of [Mistakes], and
// runs f.Fuzz. Calls with mutations of those arguments pass through a server that has only this
// tool, including the handler. No call may panic, take longer than five seconds, or be answered
// with a protocol error; isError results are allowed. Findings are kept in testdata/fuzz as usual.
//
// A call that can run only as a task runs instead in its request, at the newest revision without tasks.
//
// The client answers no questions: a handler that asks gets ErrUnsupported. If the tool needs its
// app's OneOf or Validation, build the app first. The same applies to [FuzzAgreement] and [Bench].
func FuzzTool[In, Out any](f *testing.F, tool *framework.ToolOf[In, Out]) {
	f.Helper()
	j := seeded(f, tool)
	b := bareTool(f, tool)
	c := b.connect(f, newest())
	f.Cleanup(func() { _ = c.Close() })
	f.Fuzz(func(t *testing.T, arguments string, seed uint64) {
		call := j.near(arguments, seed)
		if complaint := b.try(t, c, tool.Name(), call); complaint != "" {
			t.Errorf("testkit: %s\nsent: %s", complaint, call)
		}
	})
}

// seeded adds the seeds of a fuzz test.
func seeded[In, Out any](f *testing.F, tool *framework.ToolOf[In, Out]) *judge {
	f.Helper()
	j, err := newJudge(tool)
	if j == nil {
		f.Fatalf("testkit: %s: %v", f.Name(), err)
	}
	if err != nil { // no good call; the mistakes of a bad call are also seeds
		f.Logf("testkit: %v", err)
		j.good, _ = example(j.schema, exampleDepth).(map[string]any)
	}
	f.Add(string(encodeValue(j.good)), uint64(0))
	for i, m := range j.mistakes() {
		f.Add(string(m.arguments), uint64(0))
		f.Add(string(encodeValue(j.good)), uint64(i+1))
	}
	return j
}

// try calls the tool, and returns a complaint about the outcome, or "" if it is as expected.
func (b *bare) try(t testing.TB, c *client.Client, name string, arguments json.RawMessage) string {
	t.Helper()
	b.panicked.Store(nil)
	b.called.Store(false)
	params := appendMember([]byte("{"), "name", jsontext.Quote(nil, name))
	params = append(appendMember(params, "arguments", arguments), '}')
	err := send(t.Context(), c, params)
	if needsTask(err) {
		early := b.connect(t, withoutTasks())
		err = send(t.Context(), early, params)
		_ = early.Close()
		if refusesArguments(err) {
			return ""
		}
	}
	if p := b.panicked.Load(); p != nil {
		return fmt.Sprintf("the handler panics: %v\n%s", p.Value, p.Stack)
	}
	switch {
	case err == nil || !isObject(arguments) && !b.called.Load(): // such calls are rightly refused
		return ""
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no answer within %v", fuzzPatience)
	}
	fault, ok := errors.AsType[*protocol.Fault](err)
	if ok && fault.Kind == protocol.FaultMissingCapability { // it asks
		return ""
	}
	return fmt.Sprintf("an error of the protocol instead of a result: %v", err)
}

// send calls a tool. It returns an error if the call has no result.
func send(ctx context.Context, c *client.Client, params json.RawMessage) error {
	ctx, cancel := context.WithTimeout(ctx, fuzzPatience)
	defer cancel()
	_, err := c.Request(ctx, protocol.MethodCallTool, params)
	return err
}

// needsTask reports whether a call was refused because it can run only as a task.
func needsTask(err error) bool {
	fault, ok := errors.AsType[*protocol.Fault](err)
	return ok && fault.Kind == protocol.FaultMissingCapability && fault.Required != nil && fault.Required.Tasks
}

// refusesArguments reports whether the error lists faults of the arguments. On revisions without
// tasks, such faults are an error and not a result.
func refusesArguments(err error) bool {
	refused, ok := errors.AsType[*protocol.Error](err)
	if !ok || refused.Code != protocol.CodeInvalidParams {
		return false
	}
	data, _ := refused.Data.(json.RawMessage)
	_, lists := jsontext.Member(data, "issues")
	return lists
}

// withoutTasks returns the newest revision that has no tasks. All tools run in their request there.
func withoutTasks() *dialect.Dialect {
	all := slices.DeleteFunc(dialect.All(), func(d *dialect.Dialect) bool { return d.CoreTasks() || d.TaskExtension() })
	return all[len(all)-1]
}

func isObject(raw []byte) bool { return jsontext.KindOf(raw) == jsontext.KindObject }

// near returns a call a few random steps away from arguments; with the seed 0, it returns them as
// they are. Arguments that are not JSON, or exceed the limits of servers, are replaced by the
// good call.
func (j *judge) near(arguments string, seed uint64) json.RawMessage {
	call := json.RawMessage(arguments)
	if jsontext.Check(call, jsontext.DefaultLimits()) != nil {
		call = encodeValue(j.good)
	}
	if seed == 0 {
		return call
	}
	random := rand.New(rand.NewPCG(seed, 1))
	value := decoded(call)
	for range 1 + random.IntN(3) {
		value = j.step(random, value)
	}
	return encodeValue(value)
}

// step makes one change. Either a member that the schema knows gets a value near the schema's
// rules, is removed, or gets another name. Or any value is replaced.
func (j *judge) step(random *rand.Rand, value any) any {
	o, ok := value.(map[string]any)
	if !ok {
		return odd(random, value)
	}
	known := places(j.schema, o, nil)
	if len(known) == 0 || random.IntN(4) == 0 {
		return oddInside(random, o)
	}
	p := known[random.IntN(len(known))]
	changed := &judge{good: o}
	switch random.IntN(6) {
	case 0:
		return decoded(changed.edited(p, func(o map[string]any, name string) { delete(o, name) }))
	case 1:
		return decoded(changed.edited(p, func(o map[string]any, name string) { o[misspelled(name)] = p.value }))
	case 2:
		return decoded(changed.with(p, odd(random, p.value)))
	}
	all := slices.Concat(misread(p), beyond(p))
	return decoded(changed.with(p, all[random.IntN(len(all))].value))
}

// oddInside changes the value of any member.
func oddInside(random *rand.Rand, o map[string]any) any {
	names := slices.Sorted(maps.Keys(o))
	if len(names) == 0 {
		return map[string]any{"": odd(random, nil)}
	}
	changed := maps.Clone(o)
	name := names[random.IntN(len(names))]
	changed[name] = odd(random, o[name])
	return changed
}

// odd returns a value of a kind that often breaks programs.
func odd(random *rand.Rand, value any) any {
	texts := []any{
		"", " ", "\x00", "\u202e", "é", "😀", "a\nb", "../../etc/passwd", "'; --", "%s%n", "null", "-1", "1e400", strings.Repeat("a", 1<<12),
		json.Number("0"), json.Number("-1"), json.Number("1e400"), json.Number("-0.0"), json.Number("9223372036854775808"), json.Number("2147483648"),
		json.Number("0.1"), true, false, nil,
		[]any{},
		map[string]any{},
		[]any{value, value},
		[]any{nil},
		map[string]any{"": value},
	}
	return texts[random.IntN(len(texts))]
}

// FuzzAgreement compares the tool's schema with its validator, on the inputs of [FuzzTool].
// Arguments that the tool accepts must be valid by its schema, and the tool must accept arguments
// that the schema allows. The handler does not run.
//
// Rules that a schema can only describe are left to the tool. It may refuse a member if the schema
// has a format or a description for it, and arguments that In's own method Validate refuses. It may
// also accept null for a pointer, and refuse a number that 64 bits cannot hold, because schemas
// leave that bound out. Repair is switched off.
func FuzzAgreement[In, Out any](f *testing.F, tool *framework.ToolOf[In, Out]) {
	f.Helper()
	bareTool(f, tool, framework.WithoutRepair()) // building this server sets the tool's checks
	j := seeded(f, tool)
	f.Fuzz(func(t *testing.T, arguments string, seed uint64) {
		call := j.near(arguments, seed)
		if complaint := j.disagrees(call); complaint != "" {
			t.Errorf("testkit: %s\nsent: %s\nschema: %s", complaint, call, tool.InputSchema())
		}
	})
}

// disagrees returns how schema and tool differ over a call; "" if they agree.
func (j *judge) disagrees(call json.RawMessage) string {
	if !isObject(call) || jsontext.Unique(call) != nil { // JSON Schema ignores duplicate names
		return ""
	}
	refused, illegal := j.check(call), j.legal(call)
	switch {
	case refused == nil && illegal != nil && !nullsOnly(issuesOf(illegal)):
		return "the tool accepts what its schema refuses\nthe schema: " + messageOf(illegal)
	case refused != nil && illegal == nil && !j.described(issuesOf(refused)):
		return "the tool refuses what its schema allows\nthe tool: " + messageOf(refused)
	}
	return ""
}

// nullsOnly reports whether all issues of the schema are about nulls. A pointer accepts null, which
// schemas of arguments do not list.
func nullsOnly(issues []issue) bool {
	return len(issues) > 0 && !slices.ContainsFunc(issues, func(i issue) bool { return i.Got != "null" })
}

// beyond64 reports whether an issue is of a number that 64 bits cannot hold.
func beyond64(i issue) bool {
	text, _, isNumber := strings.Cut(i.Got, " (number)")
	n, _, err := big.ParseFloat(text, 10, 128, big.ToZero)
	if !isNumber || err != nil {
		return false
	}
	return n.Cmp(new(big.Float).SetInt64(math.MaxInt64)) > 0 || n.Cmp(new(big.Float).SetInt64(math.MinInt64)) < 0
}

// described reports whether all issues concern members that the schema describes in words or by a
// format, or numbers with bounds that it leaves out.
func (j *judge) described(issues []issue) bool {
	return !slices.ContainsFunc(issues, func(i issue) bool {
		if beyond64(i) {
			return false
		}
		s := j.schema
		words := i.Path == ""
		for step := range strings.SplitSeq(strings.TrimPrefix(i.Path, "/"), "/") {
			step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
			inner, ok := s.Property(step)
			if !ok {
				inner = s.Resolve().Items
			}
			if inner == nil {
				break
			}
			s = inner.Resolve()
			words = words || s.Description != "" || s.Format != "" || inner.Description != ""
		}
		return !words
	})
}
