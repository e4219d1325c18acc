package engine_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/protocol/rounds"
	"github.com/kagami-mcp/kagami/transport"
)

// asking is one call on 2026-07-28, driven by hand.
type asking struct {
	p         *peer
	tool      string
	arguments string
	state     string // of the last answer
	id        int
	caps      string // of the client; "": elicitation and roots
}

type outcome struct {
	Result *struct {
		ResultType string
		Requests   map[string]struct {
			Method string
			Params json.RawMessage
		} `json:"inputRequests"`
		State   string `json:"requestState"`
		Content []struct{ Text string }
	}
	Error *struct {
		Code    int
		Message string
	}
}

func (o outcome) String() string {
	switch {
	case o.Error != nil:
		return fmt.Sprintf("error %d: %s", o.Error.Code, o.Error.Message)
	case o.Result.ResultType == "input_required":
		var keys []string
		for key := range o.Result.Requests {
			keys = append(keys, key)
		}
		return fmt.Sprintf("asks %v", keys)
	}
	return o.Result.Content[0].Text
}

func (o outcome) asks(t testing.TB, keys ...string) {
	t.Helper()
	if o.Result == nil || o.Result.ResultType != "input_required" || len(o.Result.Requests) != len(keys) || o.Result.State == "" {
		t.Fatalf("want questions %v, got %v", keys, o)
	}
	for _, key := range keys {
		if _, ok := o.Result.Requests[key]; !ok {
			t.Fatalf("no question %q: %v", key, o)
		}
	}
}

func (o outcome) says(t testing.TB, text string) {
	t.Helper()
	if got := o.String(); got != text {
		t.Fatalf("got %s, want %s", got, text)
	}
}

// send runs one round; extra are members of params, beginning with a comma.
func (a *asking) send(extra string) outcome {
	a.p.t.Helper()
	a.id++
	frame := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":%s}%s}}`,
		a.id, a.tool, a.arguments, cmp.Or(a.caps, `{"elicitation":{},"roots":{}}`), extra)
	var o outcome
	text := a.p.ask(frame)
	if err := json.Unmarshal([]byte(text), &o); err != nil || o.Result == nil && o.Error == nil {
		a.p.t.Fatalf("%v: %s", err, text)
	}
	if o.Result != nil {
		a.state = o.Result.State
	}
	return o
}

// answer sends answers with the state of the last round.
func (a *asking) answer(responses string) outcome {
	a.p.t.Helper()
	return a.send(`,"inputResponses":` + responses + `,"requestState":"` + a.state + `"`)
}

// accepted is an answer of the user with one member.
func accepted(value string) string { return `{"action":"accept","content":{"v":"` + value + `"}}` }

// want asks for one text and returns it.
func want(ctx context.Context, c *engine.Call, key, message string) (string, error) {
	r := c.Questions(ctx, form(key, message))[0]
	return said(r)
}

func form(key, message string) engine.Question {
	return engine.Question{Key: key, Params: &protocol.ElicitParams{
		Message: message, Schema: json.RawMessage(`{"type":"object","properties":{"v":{"type":"string"}}}`),
	}}
}

func said(r engine.Reply) (string, error) {
	if r.Err != nil {
		return "", r.Err
	}
	var content struct{ V string }
	err := json.Unmarshal(r.Result.(*protocol.ElicitResult).Content, &content)
	return content.V, err
}

// failures collects what the engine reports. It uses the call, as what reports may: the engine
// holds no lock of it.
type failures struct {
	mu  sync.Mutex
	all []error
}

func (f *failures) add(_ context.Context, c *engine.Call, err error) {
	if c != nil {
		_ = c.Pending()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, err)
}

func start(t testing.TB, h handler, change ...func(*engine.Config)) (*asking, *failures) {
	t.Helper()
	f := &failures{}
	cfg := engine.Config{Info: protocol.Implementation{Name: "s", Version: "1"}, Catalog: catalog{"ask": h, "other": h}, Failed: f.add}
	for _, fn := range change {
		fn(&cfg)
	}
	return &asking{p: connect(t, engine.New(cfg)), tool: "ask", arguments: `{"a":1,"b":[{"x":"y"}]}`}, f
}

// TestSequence: five questions, five rounds, one logical call.
func TestSequence(t *testing.T) {
	t.Parallel()
	var ids sync.Map
	a, f := start(t, func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
		ids.Store(c.ID(), true)
		out := fmt.Sprint(c.Round)
		for i := range 5 {
			v, err := want(ctx, c, "", fmt.Sprintf("question %d", i))
			if err != nil {
				return nil, err
			}
			out += " " + v
		}
		return text(out), nil
	})
	o := a.send("")
	for i := range 5 {
		key := fmt.Sprintf("q%d", i+1)
		o.asks(t, key)
		o = a.answer(`{"` + key + `":` + accepted(fmt.Sprint(i)) + `}`)
	}
	o.says(t, "5 0 1 2 3 4")
	n := 0
	ids.Range(func(any, any) bool { n++; return true })
	if n != 1 || len(f.all) != 0 {
		t.Errorf("%d logical calls, %v", n, f.all)
	}
}

// TestGathered: all questions are asked in one round. After partial answers the rest is asked again,
// answers without a question are ignored, and the answers may come without state.
func TestGathered(t *testing.T) {
	t.Parallel()
	h := func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
		replies := c.Questions(ctx, form("name", "Name?"), form("town", "Town?"))
		name, err1 := said(replies[0])
		town, err2 := said(replies[1])
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		more, err := want(ctx, c, "more", "More?")
		return text(name + " " + town + " " + more), err
	}
	a, _ := start(t, h)
	a.send("").asks(t, "name", "town")
	a.answer(`{"town":`+accepted("Kyoto")+`,"zip":`+accepted("1")+`}`).asks(t, "name")
	a.answer(`{"name":`+accepted("Ada")+`,"town":`+accepted("Oslo")+`}`).asks(t, "more")
	a.answer(`{"more":`+accepted("no")+`}`).says(t, "Ada Kyoto no")

	a.state = ""
	a.send(`,"inputResponses":{"name":`+accepted("Ada")+`,"town":`+accepted("Kyoto")+`,"more":`+accepted("x")+`}`).asks(t, "more")
	a.answer(`{"more":`+accepted("no")+`}`).says(t, "Ada Kyoto no")
	a.send(`,"inputResponses":{"other":`+accepted("x")+`}`).asks(t, "name", "town")
}

// TestState: a state that was not made for this request runs nothing.
func TestState(t *testing.T) {
	t.Parallel()
	var runs atomic.Int32
	now := time.Now()
	var later atomic.Int64
	secret, newer := rounds.RandomSecret(), rounds.RandomSecret()
	sealer := func(secrets ...[]byte) *rounds.Sealer {
		s, err := rounds.NewSealer(secrets...)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	h := func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
		runs.Add(1)
		v, err := want(ctx, c, "k", "K?")
		return text(v), err
	}
	configure := func(s *rounds.Sealer) func(*engine.Config) {
		return func(cfg *engine.Config) {
			cfg.States = s
			cfg.Now = func() time.Time { return now.Add(time.Duration(later.Load())) }
		}
	}
	a, _ := start(t, h, configure(sealer(secret)))
	a.send("").asks(t, "k")
	good := a.state
	flipped := []byte(good)
	flipped[len(flipped)/2] ^= 1
	alice := *a
	alice.p = connect(t, a.p.e)
	alice.p.ctx = transport.WithPrincipal(alice.p.ctx, &transport.Principal{Subject: "alice"})
	ofIssuer := func(issuer string) *asking {
		one := *a
		one.p = connect(t, a.p.e)
		one.p.ctx = transport.WithPrincipal(one.p.ctx, &transport.Principal{Issuer: issuer, Subject: "alice"})
		return &one
	}
	numbered := ofIssuer("https://a.example")
	numbered.send("").asks(t, "k")
	elsewhere, _ := start(t, h)
	rotated, _ := start(t, h, configure(sealer(newer, secret)))
	answer := func(a *asking, state string) outcome {
		return a.send(`,"inputResponses":{"k":` + accepted("v") + `},"requestState":"` + state + `"`)
	}
	other, changed, spaced := *a, *a, *a
	other.tool = "other"
	changed.arguments = `{"a":2,"b":[{"x":"y"}]}`
	spaced.arguments = `{ "b":[ {"x":"\u0079"} ], "a":1 }`
	runs.Store(0)
	for name, o := range map[string]outcome{
		"tampered":       answer(a, good+"-TAMPERED"),
		"flipped":        answer(a, string(flipped)),
		"cut":            answer(a, good[:len(good)-1]),
		"empty":          answer(a, ""),
		"line break":     answer(a, good[:9]+`\n`+good[9:]),
		"garbage":        answer(a, "AAAA"),
		"another tool":   answer(&other, good),
		"other values":   answer(&changed, good),
		"another user":   answer(&alice, good),
		"another issuer": answer(ofIssuer("https://b.example"), numbered.state),
		"another server": answer(elsewhere, good),
	} {
		if o.Error == nil || o.Error.Code != -32602 || strings.Contains(o.Error.Message, "expired") {
			t.Errorf("%s: %v", name, o)
		}
	}
	if n := runs.Load(); n != 0 {
		t.Errorf("the handler ran %d times", n)
	}
	answer(&spaced, good).says(t, "v")
	answer(ofIssuer("https://a.example"), numbered.state).says(t, "v")
	answer(rotated, good).says(t, "v")
	later.Store(int64(61 * time.Minute))
	if o := answer(a, good); o.Error == nil || !strings.Contains(o.Error.Message, "expired") {
		t.Errorf("expired: %v", o)
	}
}

// TestMalformedAnswers are refused, or asked again; never taken.
func TestMalformedAnswers(t *testing.T) {
	t.Parallel()
	a, _ := start(t, func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
		v, err := want(ctx, c, "k", "K?")
		return text(v), err
	})
	for _, responses := range []string{`{"k":12345}`, `{"k":null}`, `{"k":{}}`, `{"k":{"action":"perhaps"}}`, `{"k":{"action":"accept","content":[1]}}`, `[1]`, `7`} {
		a.send("").asks(t, "k")
		if o := a.answer(responses); o.Error == nil || o.Error.Code != -32602 {
			t.Errorf("%s: %v", responses, o)
		}
		switch o := a.send(`,"inputResponses":` + responses); {
		case o.Error != nil && o.Error.Code == -32602:
		case strings.HasPrefix(responses, "{"): // no answer: the question is asked
			o.asks(t, "k")
		default:
			t.Errorf("%s without state: %v", responses, o)
		}
	}
}

// TestPendingWins over a result, an error and a panic; the context has ended.
func TestPendingWins(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func() (protocol.Result, error){
		"a result": func() (protocol.Result, error) { return text("ignored"), nil },
		"an error": func() (protocol.Result, error) { return nil, errors.New("secret") },
		"a panic":  func() (protocol.Result, error) { panic("secret") },
	} {
		a, f := start(t, func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
			if c.Round > 0 {
				return text("done"), nil
			}
			_, err := want(ctx, c, "k", "K?")
			if !errors.Is(err, engine.ErrPending) || !errors.Is(context.Cause(ctx), engine.ErrPending) || !c.Pending() {
				t.Errorf("%v, cause %v", err, context.Cause(ctx))
			}
			return end()
		})
		a.send("").asks(t, "k")
		a.answer(`{"k":`+accepted("v")+`}`).says(t, "done")
		if got := len(f.all); (got == 1) != (name == "a panic") {
			t.Errorf("%s: %v", name, f.all)
		}
	}
}

// TestEffects happen once in a logical call, and not while a question is pending.
func TestEffects(t *testing.T) {
	t.Parallel()
	var happened, failed atomic.Int32
	a, f := start(t, func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
		once := func(key string) ([]byte, error) {
			return c.Once(ctx, key, func(context.Context) ([]byte, error) { return fmt.Appendf(nil, "%d", happened.Add(1)), nil })
		}
		var same sync.WaitGroup
		for range 8 {
			same.Go(func() { _, _ = once("first") })
		}
		same.Wait()
		first, err := once("first")
		if err != nil {
			return nil, err
		}
		_, _ = c.Once(ctx, "fails", func(context.Context) ([]byte, error) { failed.Add(1); return nil, errors.New("no") })
		v, err := want(ctx, c, "k", "K?")
		second, pending := once("second")
		if err != nil {
			if !errors.Is(pending, engine.ErrPending) {
				t.Errorf("an effect while a question is pending: %s %v", second, pending)
			}
			return nil, err
		}
		return text(fmt.Sprintf("%s %s %s", first, v, second)), pending
	})
	a.send("").asks(t, "k")
	a.answer(`{"k":`+accepted("v")+`}`).says(t, "1 v 2")
	if happened.Load() != 2 || failed.Load() != 2 || len(f.all) != 0 {
		t.Errorf("%d effects, %d failures, %v", happened.Load(), failed.Load(), f.all)
	}
}

// TestChangedQuestion is asked again, and reported.
func TestChangedQuestion(t *testing.T) {
	t.Parallel()
	a, f := start(t, func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
		v, err := want(ctx, c, "k", fmt.Sprintf("in round %d?", min(c.Round, 1)))
		return text(v), err
	})
	a.send("").asks(t, "k")
	a.answer(`{"k":`+accepted("old")+`}`).asks(t, "k")
	a.answer(`{"k":`+accepted("new")+`}`).says(t, "new")
	var changed *engine.ChangedError
	if len(f.all) != 1 || !errors.As(f.all[0], &changed) || changed.Key != "k" {
		t.Errorf("%v", f.all)
	}
}

// TestLimits: what cannot be asked is not, and rounds are bounded.
func TestAskingLimits(t *testing.T) {
	t.Parallel()
	a, _ := start(t, func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
		r := c.Questions(ctx, engine.Question{Params: &protocol.CreateMessageParams{MaxTokens: 1}})[0]
		if !errors.Is(r.Err, engine.ErrCannotAsk) {
			t.Errorf("sampling was not declared: %v", r.Err)
		}
		_, _ = want(ctx, c, "same", "?")
		_, err := want(ctx, c, "same", "?")
		if errors.Is(err, engine.ErrPending) {
			t.Error("a key was used twice")
		}
		_, err = want(ctx, c, fmt.Sprint(c.Round), "?")
		return nil, err
	}, func(cfg *engine.Config) { cfg.MaxRounds = 3 })
	o := a.send("")
	for range 3 {
		if o.Error != nil {
			t.Fatal(o)
		}
		o = a.answer(`{}`)
	}
	if o.Error == nil || o.Error.Code != -32603 {
		t.Errorf("round 4: %v", o)
	}
}

// TestLargeState goes to the store where there is one, and is refused where there is none.
func TestLargeState(t *testing.T) {
	t.Parallel()
	h := func(size int) handler {
		return func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
			_, err := c.Once(ctx, "big", func(context.Context) ([]byte, error) {
				return []byte(`"` + strings.Repeat("x", size) + `"`), nil
			})
			if err != nil {
				return nil, err
			}
			v, err := want(ctx, c, "k", "K?")
			return text(v), err
		}
	}
	store := &claims{values: map[string][]byte{}}
	a, _ := start(t, h(500_000), func(cfg *engine.Config) { cfg.Claims, cfg.SharedClaims = store, true })
	a.send("").asks(t, "k")
	if len(a.state) > 200 || len(store.values) != 1 {
		t.Errorf("the state has %d bytes, the store %d values", len(a.state), len(store.values))
	}
	state := a.state
	a.answer(`{"k":`+accepted("v")+`}`).says(t, "v")
	clear(store.values)
	a.state = state
	if o := a.answer(`{"k":` + accepted("v") + `}`); o.Error == nil || !strings.Contains(o.Error.Message, "expired") {
		t.Errorf("forgotten: %v", o)
	}
	for size, code := range map[int]int{60_000: 0, 70_000: -32603} {
		b, f := start(t, h(size))
		o := b.send("")
		if code == 0 {
			o.asks(t, "k")
			b.answer(`{"k":`+accepted("v")+`}`).says(t, "v")
			continue
		}
		if o.Error == nil || o.Error.Code != code || len(f.all) != 1 {
			t.Errorf("%d bytes: %v", size, o)
		}
	}
}

// TestEffectsAtOnce checks effects that end together. The state keeps as many as fit, and the
// others return an error.
func TestEffectsAtOnce(t *testing.T) {
	t.Parallel()
	const third = 20 << 10 // of the room
	a, f := start(t, func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
		var errs [16]error
		var meet, both sync.WaitGroup
		meet.Add(len(errs))
		for i := range errs {
			both.Go(func() {
				_, errs[i] = c.Once(ctx, strconv.Itoa(i), func(context.Context) ([]byte, error) {
					meet.Done()
					meet.Wait()
					return bytes.Repeat([]byte{'1'}, third), nil
				})
			})
		}
		both.Wait()
		if kept := len(slices.DeleteFunc(errs[:], func(err error) bool { return err != nil })); kept != 3 {
			t.Errorf("%d effects are kept", kept)
		}
		_, err := want(ctx, c, "k", "K?")
		return nil, err
	})
	for range 100 {
		a.send("").asks(t, "k")
	}
	if len(f.all) != 0 {
		t.Errorf("failed %v", f.all[0])
	}
}

// TestOneEffectAtOnce: goroutines that ask for an effect by one key at the same time get the result of one
// execution. One that gives up does not wait for it.
func TestOneEffectAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		a, f := start(t, func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
			effect := func(context.Context) ([]byte, error) {
				time.Sleep(time.Second)
				return strconv.AppendInt(nil, int64(runs.Add(1)), 10), nil
			}
			var all sync.WaitGroup
			for range 16 {
				all.Go(func() {
					if value, err := c.Once(ctx, "charge", effect); string(value) != "1" || err != nil {
						t.Errorf("got %q, %v", value, err)
					}
				})
			}
			all.Go(func() {
				short, cancel := context.WithTimeout(ctx, time.Millisecond)
				defer cancel()
				time.Sleep(time.Microsecond) // another has begun
				if _, err := c.Once(short, "charge", effect); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("one that gives up: %v", err)
				}
			})
			all.Wait()
			_, err := want(ctx, c, "k", "K?")
			return nil, err
		})
		a.send("").asks(t, "k")
		if n := runs.Load(); n != 1 || len(f.all) != 0 {
			t.Errorf("%d executions, failed: %v", n, f.all)
		}
	})
}

// BenchmarkRound is a call that is answered by a question.
func BenchmarkRound(b *testing.B) {
	a, _ := start(b, func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
		_, err := want(ctx, c, "k", "K?")
		return text("x"), err
	})
	b.ReportAllocs()
	for b.Loop() {
		a.send("")
	}
}

// BenchmarkAnswer is the round that brings the answer, up to the result.
func BenchmarkAnswer(b *testing.B) {
	a, _ := start(b, func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
		v, err := want(ctx, c, "k", "K?")
		return text(v), err
	})
	a.send("")
	state := a.state
	b.ReportAllocs()
	for b.Loop() {
		a.state = state
		a.answer(`{"k":` + accepted("v") + `}`)
	}
}

// TestStateSize: three short answers fit into 400 bytes.
func TestStateSize(t *testing.T) {
	t.Parallel()
	a, _ := start(t, func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
		for i := range 4 {
			if _, err := want(ctx, c, "", fmt.Sprint("question ", i)); err != nil {
				return nil, err
			}
		}
		return text("x"), nil
	})
	a.send("")
	for i, v := range []string{"Ada Lovelace", "Kyoto", "yes"} {
		a.answer(fmt.Sprintf(`{"q%d":%s}`, i+1, accepted(v))).asks(t, fmt.Sprintf("q%d", i+2))
	}
	if len(a.state) >= 400 {
		t.Errorf("the state has %d bytes", len(a.state))
	}
}

// BenchmarkPlain is a call that asks nothing, for comparison with BenchmarkRound.
func BenchmarkPlain(b *testing.B) {
	a, _ := start(b, func(context.Context, *engine.Call) (protocol.Result, error) { return text("x"), nil })
	b.ReportAllocs()
	for b.Loop() {
		a.send("")
	}
}
