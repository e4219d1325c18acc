package middleware_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/middleware"
	"github.com/kagami-mcp/kagami/protocol"
)

type login struct {
	User     string   `json:"user"`
	Word     string   `json:"word,omitempty" secret:"true"`
	APIToken string   `json:"apiToken,omitempty"`
	Note     string   `json:"note,omitempty"`
	Pin      int      `json:"pin,omitempty" secret:"true"`
	Nested   []nested `json:"nested,omitempty"`
}

type nested struct {
	Key   string `json:"key,omitempty" secret:"true"`
	Label string `json:"label,omitempty"`
}

func loginTool(fn func(login) error) framework.Component {
	return framework.Tool("t", func(_ context.Context, in login) (string, error) { return "done", fn(in) })
}

const (
	jwt    = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl"
	secret = "correct-horse"
	pin    = "471108154711" // longer than what a time or a duration has by chance
)

// No secret of the arguments is in the log, whatever is wrong with them.
func TestLoggingHidesSecrets(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		arguments string
		want      string // in the arguments of the line
	}{
		"by tag":                   {`{"user":"ann","word":"correct-horse","pin":` + pin + `}`, `{"user":"ann","word":"[hidden]","pin":"[hidden]"}`},
		"by tag, deeper":           {`{"user":"ann","nested":[{"key":"correct-horse","label":"l"}]}`, `{"user":"ann","nested":[{"key":"[hidden]","label":"l"}]}`},
		"by a telling name":        {`{"user":"ann","apiToken":"correct-horse"}`, `{"user":"ann","apiToken":"[hidden]"}`},
		"a list of a telling name": {`{"user":"ann","apiToken":["correct-horse",1]}`, `{"user":"ann","apiToken":"[hidden]"}`},
		"by Redact":                {`{"user":"ann","note":"correct-horse"}`, `{"user":"ann","note":"[hidden]"}`},
		"by pattern":               {`{"user":"order correct-horse x"}`, `{"user":"order [hidden] x"}`},
		"a bearer token":           {`{"user":"Bearer correct-horse-battery"}`, `{"user":"[hidden]"}`},
		"a JSON web token":         {`{"user":"it is ` + jwt + `."}`, `{"user":"it is [hidden]"}`},
		"in a URL, with an @":      {`{"user":"postgres://ann:correct@horse-battery@db/x"}`, `{"user":"postgres[hidden]db/x"}`},
		"in a URL":                 {`{"user":"postgres://ann:correct-horse@db/x"}`, `{"user":"postgres[hidden]db/x"}`},
		"another case":             {`{"user":"ann","Word":"correct-horse"}`, `{"user":"ann","Word":"[hidden]"}`},
		"misspelled":               {`{"user":"ann","wrod":"correct-horse"}`, `{"user":"ann","wrod":"[hidden]"}`},
		"escaped":                  {`{"user":"ann","w\u006frd":"correct-horse"}`, `{"user":"ann","word":"[hidden]"}`},
		"another shape":            {`{"user":"ann","nested":{"key":"correct-horse"}}`, `{"user":"ann","nested":"[hidden]"}`},
		"another shape below":      {`{"user":"ann","nested":["correct-horse"]}`, `{"user":"ann","nested":["[hidden]"]}`},
		"twice":                    {`{"user":"ann","word":"x","word":"correct-horse"}`, `{"user":"ann","word":"[hidden]","word":"[hidden]"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var text bytes.Buffer
			logger := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(&text), zapcore.DebugLevel))
			s := build(t, framework.New("test", "1", framework.WithLogger(logger)).
				Use(middleware.Logging(middleware.Redact("no-te"), middleware.RedactPattern(regexp.MustCompile(`correct-horse`)))).
				Add(loginTool(func(login) error { return nil })))
			call(t.Context(), t, s, tt.arguments)
			var line struct{ Arguments string }
			if err := json.Unmarshal(text.Bytes(), &line); err != nil {
				t.Fatalf("%v: %s", err, text.Bytes())
			}
			if line.Arguments != tt.want {
				t.Errorf("arguments %s\nwant      %s", line.Arguments, tt.want)
			}
			if strings.Contains(text.String(), secret) || strings.Contains(text.String(), pin) {
				t.Errorf("the log has the secret: %s", text.Bytes())
			}
		})
	}
}

// A model writes the number of a card as a text or as a number.
func TestLoggingHidesPatternsInNumbers(t *testing.T) {
	t.Parallel()
	card := regexp.MustCompile(`\b4\d{15}\b`)
	for name, tt := range map[string]struct {
		arguments string
		want      string
		patterns  []*regexp.Regexp
	}{
		"a number":          {`{"user":"ann","pay":4111111111111111}`, `{"user":"ann","pay":"[hidden]"}`, []*regexp.Regexp{card}},
		"in a list":         {`{"user":"ann","pay":[1,4111111111111111]}`, `{"user":"ann","pay":[1,"[hidden]"]}`, []*regexp.Regexp{card}},
		"a part of one":     {`{"user":"ann","pay":1234567}`, `{"user":"ann","pay":"1[hidden]67"}`, []*regexp.Regexp{regexp.MustCompile(`2345`)}},
		"another number":    {`{"user":"ann","pay":-1.5e3}`, `{"user":"ann","pay":-1.5e3}`, []*regexp.Regexp{card}},
		"without a pattern": {`{"user":"ann","pay":4111111111111111}`, `{"user":"ann","pay":4111111111111111}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app, logs := watched()
			tool := framework.Tool("t", func(context.Context, map[string]any) (string, error) { return "done", nil })
			s := build(t, app.Use(middleware.Logging(middleware.RedactPattern(tt.patterns...))).Add(tool))
			call(t.Context(), t, s, tt.arguments)
			if got := line(t, logs.TakeAll()[0])["arguments"]; got != tt.want {
				t.Errorf("arguments %v\nwant      %s", got, tt.want)
			}
		})
	}
}

// Nor are those in the text of an error.
func TestLoggingHidesSecretsOfErrors(t *testing.T) {
	t.Parallel()
	app, logs := watched()
	s := build(t, app.Use(middleware.Logging()).Add(loginTool(func(in login) error {
		return framework.UserErrorf("login %s:%s of pin %d refused, header Authorization: Bearer abcdefgh12345", in.User, in.Word, in.Pin)
	})))
	call(t.Context(), t, s, `{"user":"ann","word":"correct-horse","pin":4711}`)
	got := line(t, logs.TakeAll()[0])
	if want := "login ann:[hidden] of pin [hidden] refused, header Authorization: [hidden]"; got["error"] != want || got["outcome"] != "tool_error" {
		t.Errorf("logged %v, want the error %q", got, want)
	}
}

// A model that writes JSON as text is understood, and so are its secrets.
func TestLoggingHidesSecretsOfMendedArguments(t *testing.T) {
	t.Parallel()
	for _, arguments := range []string{
		`{"user":"ann","nested":"[{\"key\":\"correct-horse\"}]"}`,
		`{"user":"ann","pin":" 471108154711 "}`,
	} {
		app, logs := watched()
		s := build(t, app.Use(middleware.Logging()).Add(loginTool(func(in login) error {
			return fmt.Errorf("login %v %d refused", in.Nested, in.Pin)
		})))
		call(t.Context(), t, s, arguments)
		for _, entry := range logs.TakeAll() {
			if text := fmt.Sprint(entry.Message, entry.ContextMap()); strings.Contains(text, secret) || strings.Contains(text, pin) {
				t.Errorf("the log has the secret of %s: %s", arguments, text)
			}
		}
	}
}

// Wherever in the arguments they are, and however the error spells them.
func TestLoggingHidesSecretsWithin(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ arguments, format, secret string }{
		"in a list":    {`{"passwords":["correct-horse"]}`, "refused: %s", "correct-horse"},
		"in an object": {`{"password":{"old":[{"x":"correct-horse"}]}}`, "refused: %s", "correct-horse"},
		"quoted":       {`{"password":"correct\"horse\n"}`, "refused: %q", "correct\"horse\n"},
		"a number":     {`{"passwords":[47114711]}`, "refused: %s", "47114711"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, opts := range [][]middleware.LogOption{nil, {middleware.WithoutArguments()}} {
				app, logs := watched()
				s := build(t, app.Use(middleware.Logging(opts...)).Add(framework.Tool("t", func(context.Context, map[string]any) (string, error) {
					return "", framework.UserErrorf(tt.format, tt.secret)
				})))
				call(t.Context(), t, s, tt.arguments)
				if got := line(t, logs.TakeAll()[0])["error"]; !strings.HasPrefix(fmt.Sprint(got), "refused: ") || !strings.Contains(fmt.Sprint(got), "[hidden]") || strings.Contains(fmt.Sprint(got), "horse") {
					t.Errorf("logged %s", got)
				}
			}
		})
	}
}

// A variable of a URI is an argument of its template.
func TestLoggingHidesSecretsOfURIs(t *testing.T) {
	t.Parallel()
	app, logs := watched()
	type key struct {
		Pin  string `uri:"pin" secret:"true"`
		Page string `uri:"page"`
	}
	s := build(t, app.Use(middleware.Logging()).Add(framework.ResourceTemplate("a://{pin}/{page}", func(_ context.Context, in key) (string, error) {
		return "", framework.UserErrorf("pin %s has no page %s", in.Pin, in.Page)
	})))
	request(t.Context(), t, s, "resources/read", "", `"uri":"a://4711%204711/nine",`)
	got := line(t, logs.TakeAll()[0])
	if want := "pin [hidden] has no page nine"; got["error"] != want || got["name"] != "a://{pin}/{page}" || got["arguments"] != nil {
		t.Errorf("logged %v, want the error %q", got, want)
	}
}

// TestLoggingMeasures checks that the duration covers the call even if no other step measures it.
func TestLoggingMeasures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		app, logs := watched()
		s := build(t, app.Use(middleware.Logging()).Add(loginTool(func(login) error { time.Sleep(time.Second); return nil })))
		call(t.Context(), t, s, `{"user":"ann"}`)
		if got := line(t, logs.TakeAll()[0])["duration"]; got != time.Second {
			t.Errorf("a call of a second took %v", got)
		}
	})
}

func line(t *testing.T, entry interface{ ContextMap() map[string]any }) map[string]any {
	t.Helper()
	return entry.ContextMap()
}

// What came in is what is logged, not what a step further in has made of it.
func TestLoggingArgumentsAsReceived(t *testing.T) {
	t.Parallel()
	app, logs := watched()
	change := framework.Middleware{Name: "change", Wrap: func(next framework.Handler) framework.Handler {
		return func(ctx context.Context, c *framework.Call) (*framework.Result, error) {
			c.Arguments = json.RawMessage(`{"user":"bob"}`)
			return next(ctx, c)
		}
	}}
	s := build(t, app.Use(middleware.Logging(), change).Add(loginTool(func(login) error { return nil })))
	call(t.Context(), t, s, `{"user":"ann"}`)
	if got := line(t, logs.All()[0])["arguments"]; got != `{"user":"ann"}` {
		t.Errorf("arguments %v", got)
	}
}

// A line is one line, and no client can write into it.
func TestLoggingInjection(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	logger := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(&text), zapcore.DebugLevel))
	s := build(t, framework.New("test", "1", framework.WithLogger(logger)).Use(middleware.Logging()).Add(
		loginTool(func(in login) error { return framework.UserErrorf("no user %s", in.User) }),
		framework.ResourceTemplate("a://{+x}", func(context.Context, struct{ X string }) (string, error) { return "", nil }),
	))
	evil := `x\n{\"level\":\"error\",\"msg\":\"forged\"}\r\u001b[31m\u2028`
	call(t.Context(), t, s, `{"user":"`+evil+`"}`)
	request(t.Context(), t, s, "resources/read", "", `"uri":"a://`+strings.Repeat("y", 5000)+`",`)
	lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
	if len(lines) != 2 || strings.ContainsAny(text.String(), "\r\x1b") {
		t.Fatalf("%d lines: %q", len(lines), text.String())
	}
	for _, l := range lines {
		var entry map[string]any
		if err := json.Unmarshal([]byte(l), &entry); err != nil || entry["msg"] != "call" || len(l) > 1500 {
			t.Errorf("%v: %d bytes: %s", err, len(l), l)
		}
	}
}

func TestLoggingBounds(t *testing.T) {
	t.Parallel()
	app, logs := watched()
	s := build(t, app.Use(middleware.Logging()).Add(loginTool(func(in login) error { return framework.UserErrorf("%s", in.User) })))
	call(t.Context(), t, s, `{"user":"`+strings.Repeat("ä", 40_000)+`"}`)
	got := line(t, logs.All()[0])
	for _, key := range []string{"arguments", "error"} {
		text := fmt.Sprint(got[key])
		if len(text) > 2100 || !strings.HasSuffix(text, "…") || strings.ContainsRune(text, '�') {
			t.Errorf("%s has %d bytes and ends in %q", key, len(text), text[len(text)-8:])
		}
	}
}

// Of long arguments only the beginning is looked through for secrets, and no more than that
// is written, however short it gets.
func TestLoggingLooksThroughTheBeginning(t *testing.T) {
	t.Parallel()
	app, logs := watched()
	s := build(t, app.Use(middleware.Logging()).Add(loginTool(func(login) error { return nil })))
	call(t.Context(), t, s, `{"user":"-----BEGIN PRIVATE KEY-----`+strings.Repeat("A", 3<<20)+`","note":"Bearer correct-horse"}`)
	if got, want := line(t, logs.All()[0])["arguments"], `{"user":"[hidden]","…":"…"}`; got != want {
		t.Errorf("arguments %s, want %s", got, want)
	}
}

func TestLoggingLines(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err     error
		level   zapcore.Level
		outcome string
	}{
		"ok":          {nil, zapcore.InfoLevel, "ok"},
		"user error":  {framework.UserErrorf("no"), zapcore.InfoLevel, "tool_error"},
		"argument":    {framework.InvalidArgumentf("a", "no"), zapcore.InfoLevel, "invalid_arguments"},
		"not found":   {framework.NotFoundf("no"), zapcore.InfoLevel, "not_found"},
		"declined":    {framework.ErrDeclined, zapcore.InfoLevel, "declined"},
		"unsupported": {framework.ErrUnsupported, zapcore.InfoLevel, "unsupported"},
		"internal":    {errors.New("EOF"), zapcore.WarnLevel, "failed"},
		"rejected":    {&protocol.Error{Code: -1, Message: "no"}, zapcore.WarnLevel, "rejected"},
		"limited":     {protocol.TooMany(1, "no"), zapcore.WarnLevel, "limited"},
	} {
		app, logs := watched()
		s := build(t, app.Use(middleware.Logging(middleware.WithoutArguments())).Add(doing(func(context.Context) error { return tt.err })))
		call(as(from(t.Context(), "192.0.2.1:1", nil), "ann"), t, s, `{}`)
		all := logs.FilterMessage("call").All()
		if len(all) != 1 || all[0].Level != tt.level {
			t.Errorf("%s: logged %v, want one line of %s", name, all, tt.level)
			continue
		}
		got := line(t, all[0])
		if got["outcome"] != tt.outcome || got["method"] != "tools/call" || got["name"] != "t" || got["subject"] != "ann" ||
			got["address"] != "192.0.2.1:1" || got["call"] == "" || got["arguments"] != nil || (got["error"] == nil) != (tt.err == nil) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// One line a logical call, and none for a resend.
func TestLoggingRounds(t *testing.T) {
	t.Parallel()
	app, logs := watched()
	s := build(t, app.Use(middleware.Logging()).Add(asking(2)))
	one := call(t.Context(), t, s, `{}`)
	two := again(t.Context(), t, s, one, true)
	if logs.Len() > 0 {
		t.Errorf("logged before the call was over: %v", logs.All())
	}
	again(t.Context(), t, s, two, true)
	if got := again(t.Context(), t, s, two, true); got.text() != "done" {
		t.Errorf("the resend: %s", got.raw)
	}
	if logs.Len() != 1 || line(t, logs.All()[0])["rounds"] != int64(3) {
		t.Errorf("logged %v, want one line of 3 rounds", logs.All())
	}
}

func TestLoggingPanics(t *testing.T) {
	t.Parallel()
	app, logs := watched()
	s := build(t, app.Use(middleware.Logging(middleware.Sample(1000)), boom).Add(doing(nothing)))
	for range 2 {
		logs.TakeAll()
		call(t.Context(), t, s, `{"a":1}`)
		calls := logs.FilterMessage("call").All()
		if len(calls) != 1 || calls[0].Level != zapcore.WarnLevel || line(t, calls[0])["outcome"] != "panic" || line(t, calls[0])["arguments"] != `{"a":1}` {
			t.Errorf("logged %v", calls)
		}
	}
}

func TestLoggingSample(t *testing.T) {
	t.Parallel()
	app, logs := watched()
	fail := false
	s := build(t, app.Use(middleware.Logging(middleware.Sample(4))).Add(doing(func(context.Context) error {
		if fail {
			return protocol.TooMany(1, "no")
		}
		return nil
	})))
	for range 10 {
		call(t.Context(), t, s, `{}`)
	}
	good := logs.Len()
	fail = true
	for range 5 {
		call(t.Context(), t, s, `{}`)
	}
	if good != 3 || logs.Len() != 8 {
		t.Errorf("%d of 10 good and %d of 5 bad calls were logged, want 3 and 5", good, logs.Len()-good)
	}
}

// TestLoggingLevel checks that a logger with a higher level writes no line, and that clients get no
// log message either.
func TestLoggingLevel(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Use(middleware.Logging()).Add(doing(nothing)))
	if got := call(t.Context(), t, s, `{}`); got.text() != "done" {
		t.Errorf("answered %s", got.raw)
	}
	got := request(t.Context(), t, s, "tools/call", `"io.modelcontextprotocol/logLevel":"debug",`, `"name":"t","arguments":{},`)
	if strings.Contains(got.raw, "notifications/message") || got.text() != "done" {
		t.Errorf("the client was told: %s", got.raw)
	}
}

func TestLoggingTrace(t *testing.T) {
	t.Parallel()
	app, logs := watched()
	traced := &spans{}
	s := build(t, app.Use(middleware.TraceWith(traced, nil), middleware.Logging()).Add(doing(nothing)))
	call(t.Context(), t, s, `{}`)
	got, span := line(t, logs.All()[0]), traced.all()[0].SpanContext()
	if got["trace"] != span.TraceID().String() || got["span"] != span.SpanID().String() || !trace.SpanContext.IsValid(span) {
		t.Errorf("logged %v of the span %v", got, span)
	}
}

// A secret in a template's variable is not in the name.
func TestLoggingSecretURI(t *testing.T) {
	t.Parallel()
	app, logs := watched()
	var lines bytes.Buffer
	type vars struct {
		Key string `secret:"true"`
	}
	s := build(t, app.Use(middleware.Logging(), middleware.Audit(&lines)).Add(
		framework.ResourceTemplate("share://{key}", func(context.Context, vars) (string, error) { return "x", nil })))
	request(t.Context(), t, s, "resources/read", "", `"uri":"share://correct-horse",`)
	if got := line(t, logs.All()[0])["name"]; got != "share://{key}" || !strings.Contains(lines.String(), `"name":"share://{key}"`) {
		t.Errorf("logged %v, audited %s", got, lines.String())
	}
}

func FuzzRedaction(f *testing.F) {
	for _, seed := range []string{`{"user":"a","word":"w"}`, `{"nested":[{"key":1}]}`, `[]`, `"x"`, `{"a":{"token":[1,"x"]}}`} {
		f.Add(seed)
	}
	app, logs := watched()
	s, err := app.Use(middleware.Logging()).Add(loginTool(func(login) error { return nil })).Build()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, arguments string) {
		if !json.Valid([]byte(arguments)) || strings.ContainsAny(arguments, "\n\r") {
			return
		}
		logs.TakeAll()
		call(t.Context(), t, s, arguments)
		for _, entry := range logs.TakeAll() {
			text, ok := entry.ContextMap()["arguments"].(string)
			if ok && len(text) < 2000 && !json.Valid([]byte(text)) {
				t.Errorf("%s is logged as %s", arguments, text)
			}
		}
	})
}

// Keys of well-known services are hidden wherever they appear.
func TestLoggingHidesKnownKeys(t *testing.T) {
	t.Parallel()
	for _, key := range []string{
		"Basic YWxpY2U6c2VjcmV0", "DPoP abcdefgh12345", "sk-" + strings.Repeat("a", 20), "pk_" + strings.Repeat("a", 20), "rk_" + strings.Repeat("a", 20),
		"ghp_" + strings.Repeat("a", 36), "gho_" + strings.Repeat("a", 36), "ghu_" + strings.Repeat("a", 36), "ghs_" + strings.Repeat("a", 36), "ghr_" + strings.Repeat("a", 36),
		"github_pat_" + strings.Repeat("a", 40), "glpat-" + strings.Repeat("a", 20),
		"xoxb-" + strings.Repeat("1", 12), "AKIA" + strings.Repeat("A", 16), "ASIA" + strings.Repeat("A", 16), "AIza" + strings.Repeat("a", 35),
	} {
		app, logs := watched()
		s := build(t, app.Use(middleware.Logging()).Add(framework.Tool("t", func(context.Context, map[string]any) (string, error) {
			return "", framework.UserErrorf("refused: %s", key)
		})))
		call(t.Context(), t, s, `{"user":"it is `+key+` here"}`)
		got := line(t, logs.TakeAll()[0])
		if got["arguments"] != `{"user":"it is [hidden] here"}` || got["error"] != "refused: [hidden]" {
			t.Errorf("%s is logged: %v", key, got)
		}
	}
}

// TestTaskIDIsNotLogged checks log entries and spans; see TestTaskIDIsNotWritten.
func TestTaskIDIsNotLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		app, logs := watched()
		traced, id := &spans{}, ""
		tool := framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
			id = framework.CallerLite(ctx).Task
			return "done", nil
		}, framework.Task(framework.TaskOptional))
		shake(t, build(t, app.Use(middleware.Logging(), middleware.TraceWith(traced, nil)).Add(tool))).task(t)
		var tasks []any
		for _, entry := range logs.TakeAll() {
			fields := entry.ContextMap()
			tasks = append(tasks, fields["task"])
			if id == "" || strings.Contains(fmt.Sprint(entry.Message, fields), id) {
				t.Errorf("the task %q is logged: %v", id, fields)
			}
		}
		for _, span := range traced.all() {
			tasks = append(tasks, span.attrs["kagami.task.id"])
			if strings.Contains(fmt.Sprint(span.attrs), id) {
				t.Errorf("the task %q is in a span: %v", id, span.attrs)
			}
		}
		for _, d := range tasks {
			if d == nil || d == "" {
				t.Errorf("a line or span names no task: %q", tasks)
			}
		}
	})
}
