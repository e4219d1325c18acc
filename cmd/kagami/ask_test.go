package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// asks is a server of 2026-07-28 over HTTP. Its tool asks the questions of the test, and then
// returns the declared capabilities and the answers.
type asks struct {
	*httptest.Server
	mu      sync.Mutex
	headers []http.Header
}

func askServer(t *testing.T, requests string) *asks {
	t.Helper()
	s := &asks{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.headers = append(s.headers, r.Header)
		s.mu.Unlock()
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				InputResponses json.RawMessage
				Meta           map[string]json.RawMessage `json:"_meta"`
			}
		}
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &m); err != nil {
			t.Errorf("%s: %v", body, err)
		}
		result := `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"resources":{},"prompts":{}},"ttlMs":0,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"asks","version":"1"}}}`
		said := fmt.Sprintf(`declared %s, answered %s`, m.Params.Meta["io.modelcontextprotocol/clientCapabilities"], m.Params.InputResponses)
		switch {
		case m.Method == "server/discover":
		case strings.HasSuffix(m.Method, "/list"):
			result = `{"resultType":"complete","tools":[],"prompts":[],"resources":[],"resourceTemplates":[],"ttlMs":0,"cacheScope":"public"}`
		case requests != "" && m.Params.InputResponses == nil:
			result = `{"resultType":"input_required","requestState":"s","inputRequests":` + requests + `}`
		case m.Method == "resources/read":
			result = `{"resultType":"complete","ttlMs":0,"cacheScope":"private","contents":[{"uri":"a:b","text":` + string(jsontext.Quote(nil, said)) + `}]}`
		case m.Method == "prompts/get":
			result = `{"resultType":"complete","messages":[{"role":"user","content":{"type":"text","text":` + string(jsontext.Quote(nil, said)) + `}}]}`
		default:
			result = `{"resultType":"complete","content":[{"type":"text","text":` + string(jsontext.Quote(nil, said)) + `}]}`
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
	t.Cleanup(s.Close)
	return s
}

const (
	askName  = `{"method":"elicitation/create","params":{"message":"What is your name?","requestedSchema":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"age":{"type":"integer","default":30}}}}}`
	askYes   = `{"method":"elicitation/create","params":{"message":"Really?","requestedSchema":{"type":"object","required":["value"],"properties":{"value":{"type":"boolean"}}}}}`
	askCount = `{"method":"elicitation/create","params":{"message":"How many?","requestedSchema":{"type":"object","required":["value"],"properties":{"value":{"type":"integer","minimum":1}}}}}`
	askPage  = `{"method":"elicitation/create","params":{"mode":"url","message":"Sign in, please.","url":"https://a.example:8443/in?x=1"}}`
	askModel = `{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"Say hi"}}],"systemPrompt":"Be kind.","maxTokens":9}}`
)

func answersFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "answers.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	three := `{"a":` + askName + `,"b":` + askPage + `,"c":` + askModel + `}`
	tests := map[string]struct {
		requests, file string
		code           int
		out, errs      string
	}{
		"object":          {three, `{"name":{"name":"Ann","age":1},"Sign":"accept","hi":"hello"}`, 0, `{"age":1,"name":"Ann"}`, ""},
		"byte order mark": {three, "\ufeff" + `{"name":{"name":"Ann","age":1},"Sign":"accept","hi":"hello"}`, 0, `{"age":1,"name":"Ann"}`, ""},
		"default of the form": {
			`{"a":` + askName + `}`, `[{"name":"Ann"}]`, 0, `answered {"a":{"action":"accept","content":{"name":"Ann","age":30}}}`, "",
		},
		"decline": {`{"a":` + askName + `}`, `["decline"]`, 0, `{"action":"decline"}`, ""},
		"cancel":  {`{"a":` + askPage + `}`, `{"":"cancel"}`, 0, `{"action":"cancel"}`, ""},
		"page":    {`{"a":` + askPage + `}`, `["accept"]`, 0, `{"a":{"action":"accept"}}`, ""},
		"a form's own match": {
			`{"a":` + askName + `}`, `[{"match":"x","answer":"y","name":"Ann"}]`, 0, `"match":"x"`, "",
		},
		"by text, out of order": {
			three, `[{"match":"hi","answer":"hello"},{"match":"Sign","answer":"accept"},{"match":"name","answer":{"name":"Ann"}}]`, 0, `"text":"hello"`, "",
		},
		"in order": {
			three, `[{"name":"Ann"},"accept","hello"]`, 0, `"text":"hello"`, "",
		},
		"longer text first": {`{"a":` + askName + `}`, `{"What":"decline","What is your":{"name":"Ann"}}`, 0, `"name":"Ann"`, ""},
		"model declines":    {`{"a":` + askModel + `}`, `["decline"]`, 1, "", "rejected"},
		"model wants text":  {`{"a":` + askModel + `}`, `[{}]`, 1, "", "must be a JSON string"},
		"unmatched": {
			`{"a":` + askName + `}`, `{"Nobody asks":"decline"}`, 1, "",
			"answers.json has no answer left for this question of the server: \"What is your name?\"\n" +
				`Add this to a list of answers: {"match": "What is your name?", "answer": {"name": ""}}`,
		},
		"unmatched page":          {`{"a":` + askPage + `}`, `[]`, 1, "", `"answer": "accept"}`},
		"unmatched model":         {`{"a":` + askModel + `}`, `[]`, 1, "", `"Say hi"`},
		"used up":                 {`{"a":` + askName + `,"b":` + askName + `}`, `[{"name":"Ann"}]`, 1, "", "no answer left"},
		"does not fit":            {`{"a":` + askName + `}`, `[{"age":"x"}]`, 1, "", "does not fit the form: name: is required; age: must be an integer"},
		"value of the only field": {`{"a":` + askYes + `}`, `[false]`, 0, `{"action":"accept","content":{"value":false}}`, ""},
		"number":                  {`{"a":` + askCount + `}`, `{"many":3}`, 0, `{"value":3}`, ""},
		"yes to a page":           {`{"a":` + askPage + `}`, `[true]`, 0, `{"action":"accept"}`, ""},
		"value of several fields": {`{"a":` + askName + `}`, `[true]`, 1, "", `must be an object`},
		"odd word":                {`{"a":` + askName + `}`, `["yes"]`, 1, "", `must be an object, "accept", "decline" or "cancel", not "yes"`},
		"no JSON":                 {`{}`, `[`, 2, "", "not valid JSON"},
		"empty":                   {`{}`, ` `, 2, "", "not valid JSON"},
		"no list":                 {`{}`, `7`, 2, "", "want a list or an object"},
		"no answer":               {`{}`, `[{"name":"x"},null]`, 2, "", "answer 2: want an object, or the value of the only field"},
		"no answer named":         {`{}`, `{"a":null}`, 2, "", `answer to "a": want an object`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := askServer(t, tt.requests)
			out, errs, code := kagami(t, "call", s.URL, "x", "--answers", answersFile(t, tt.file))
			if given, _, again := kagami(t, "call", s.URL, "x", "--answers", tt.file); (tt.file[0] == '[' || tt.file[0] == '{') && (again != code || given != out) {
				t.Errorf("as JSON: exit code %d\n%s", again, given)
			}
			if code != tt.code || !strings.Contains(out, tt.out) || tt.out == "" && out != "" || !strings.Contains(errs, tt.errs) {
				t.Errorf("exit code %d\nstdout: %s\nstderr: %s", code, out, errs)
			}
		})
	}
}

// A server may ask during each command that runs a handler, also with --json.
func TestCommandsThatAsk(t *testing.T) {
	t.Parallel()
	s := askServer(t, `{"a":`+askName+`}`)
	file := answersFile(t, `{"name":{"name":"Ann"}}`)
	for _, args := range [][]string{{"call", s.URL, "x"}, {"read", s.URL, "a:b"}, {"prompt", s.URL, "p"}} {
		for _, raw := range []bool{false, true} {
			args := append(args, "--answers", file)
			if raw {
				args = append(args, "--json")
			}
			out, errs, code := kagami(t, args...)
			if code != 0 || !strings.Contains(out, "Ann") || strings.Contains(out, "resultType") != raw {
				t.Errorf("%v: exit code %d\n%s%s", args, code, out, errs)
			}
		}
	}
}

// The client declares only what it can answer.
func TestDeclaredCapabilities(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, file := askServer(t, ""), answersFile(t, `[]`)
	tests := []struct {
		args []string
		want string
	}{
		{nil, `{}`},
		{[]string{"--answers", file}, `{"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}}}`},
		{[]string{"--sample", "hi"}, `{"sampling":{"tools":{}}}`},
		{[]string{"--root", dir}, `{"roots":{}}`},
	}
	for _, tt := range tests {
		out, errs, code := kagami(t, append([]string{"call", s.URL, "x"}, tt.args...)...)
		if code != 0 || !strings.HasPrefix(out, "declared "+tt.want+",") {
			t.Errorf("%v: exit code %d\n%s%s", tt.args, code, out, errs)
		}
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = null.Close() }()
	var out strings.Builder
	a := &cli{in: null, out: &out, errs: io.Discard}
	if code := a.run(t.Context(), []string{"call", s.URL, "x"}); code != 0 || !strings.HasPrefix(out.String(), "declared {},") {
		t.Errorf("the null device was used as a terminal: %d\n%s", code, out.String())
	}
}

func TestSampleAndRootFlags(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a b")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := askServer(t, `{"m":`+askModel+`,"r":{"method":"roots/list"}}`)
	out, errs, code := kagami(t, "call", s.URL, "x", "--sample", "hello", "--root", dir, "--root", ".")
	if code != 0 || !strings.Contains(out, `"text":"hello"`) || !strings.Contains(out, "/a%20b\",\"name\":\"a b\"}") || !strings.Contains(out, `/cmd/kagami","name":"kagami"}`) {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	for _, dir := range []string{"./nowhere", "main.go"} {
		if _, errs, code := kagami(t, "call", s.URL, "x", "--root", dir); code != 2 || !strings.Contains(errs, "no such directory") {
			t.Errorf("--root %s: exit code %d\n%s", dir, code, errs)
		}
	}
	_, errs, code = kagami(t, "call", s.URL, "x", "--sample", "hello")
	if code != 1 || !strings.Contains(errs, "did not declare roots") || !strings.Contains(errs, "or --root (see the help") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	_, errs, code = kagami(t, "call", s.URL, "x")
	if code != 1 || !strings.Contains(errs, "did not declare sampling (OnSample), roots (OnRoots)") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	s := askServer(t, "")
	for _, args := range [][]string{
		{"tools", s.URL},
		{"resources", s.URL},
		{"prompts", s.URL},
		{"inspect", s.URL},
		{"call", s.URL, "x"},
		{"call", "x", "--cmd", s.URL},
		{"read", s.URL, "a:b"},
		{"prompt", s.URL, "p"},
	} {
		_, errs, code := kagami(t, append(args, "--bearer", "t0k", "--header", "X-One: 1", "--header", "x-two:2:3")...)
		if code != 0 {
			t.Errorf("%v: exit code %d\n%s", args, code, errs)
		}
	}
	for _, h := range s.headers {
		if h.Get("Authorization") != "Bearer t0k" || h.Get("X-One") != "1" || h.Get("X-Two") != "2:3" {
			t.Errorf("headers %v", h)
		}
	}
	for want, args := range map[string][]string{
		"want 'Name: value'":     {"tools", s.URL, "--header", "nope"},
		`got "a: b\r\nX: c"`:     {"tools", s.URL, "--header", "a: b\r\nX: c"},
		"for servers at a URL":   {"tools", everything, "--bearer", "x"},
		"kagami: --answers: not": {"call", everything, "x", "--answers", "[tr"},
		"are for servers at a U": {"tools", everything, "--header", "a: b"},
	} {
		if _, errs, code := kagami(t, args...); code != 2 || !strings.Contains(errs, want) {
			t.Errorf("%v: exit code %d\n%s", args, code, errs)
		}
	}
	if _, errs, code := kagami(t, "tools", "http://127.0.0.1:1/mcp"); code != 4 || !strings.Contains(errs, "connecting to http://127.0.0.1:1/mcp") {
		t.Errorf("no server: exit code %d\n%s", code, errs)
	}
}

// A first call may get either of these two refusals.
func TestRefusedHints(t *testing.T) {
	t.Parallel()
	const path, token = "did you mean ", "The server wants a valid token: log in (kagami auth login), give --bearer TOKEN or set KAGAMI_BEARER."
	for _, tt := range []struct {
		status int
		at     string
		hint   string // "": none
	}{
		{404, "", path + "URL/mcp?\n"},
		{405, "", path + "URL/mcp?\n"},
		{404, "/", path + "URL/mcp?\n"},
		{404, "?key=1", path + "URL/mcp?key=1?\n"},
		{404, "/other", ""},
		{404, "/mcp", ""},
		{500, "", ""},
		{401, "", token},
		{401, "/mcp", token},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(tt.status) }))
		_, errs, code := kagami(t, "call", s.URL+tt.at, "x")
		if want := map[bool]int{true: 3, false: 4}[tt.status == http.StatusUnauthorized]; code != want || !strings.Contains(errs, strings.Replace(tt.hint, "URL", s.URL, 1)) || !strings.Contains(errs, fmt.Sprint("HTTP ", tt.status)) {
			t.Errorf("%d at %q: exit code %d\n%s", tt.status, tt.at, code, errs)
		}
		for _, hint := range []string{path, token} {
			if strings.Contains(errs, hint) && !strings.HasPrefix(tt.hint, hint) {
				t.Errorf("%d at %q: a hint that does not help\n%s", tt.status, tt.at, errs)
			}
		}
		s.Close()
	}
}

func TestBearerFromEnvironment(t *testing.T) {
	t.Setenv(bearerEnv, "secret")
	s := askServer(t, "")
	if _, errs, code := kagami(t, "tools", s.URL); code != 0 || s.headers[0].Get("Authorization") != "Bearer secret" {
		t.Errorf("exit code %d\n%s%v", code, errs, s.headers)
	}
	if _, errs, code := kagami(t, "version"); code != 0 {
		t.Errorf("exit code %d\n%s", code, errs)
	}
}

// A real server on every revision on which it can ask.
func TestEverythingAsks(t *testing.T) {
	t.Parallel()
	file := answersFile(t, `{"Who are you?":{"username":"ada","email":"ada@example.com"}}`)
	for _, rev := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(rev, func(t *testing.T) {
			t.Parallel()
			call := []string{"call", everything, "test_elicitation", "message=Who are you?", "--revision", rev}
			out, errs, code := kagami(t, append(call, "--answers", file)...)
			if code != 0 || !strings.Contains(out, "ada@example.com") {
				t.Errorf("exit code %d\n%s%s", code, out, errs)
			}
			_, errs, code = kagami(t, append(call, "--answers", answersFile(t, `[]`))...)
			if code != 1 || !strings.Contains(errs, `no answer left for this question of the server: "Who are you?"`) {
				t.Errorf("unmatched: exit code %d\n%s", code, errs)
			}
			if _, errs, code := kagami(t, call...); code == 0 || errs == "" {
				t.Errorf("no terminal and no answers: exit code %d\n%s", code, errs)
			}
			out, errs, code = kagami(t, "call", everything, "test_sampling", "prompt=Hi", "--revision", rev, "--sample", "hello")
			if code != 0 || out != "LLM response: hello\n" {
				t.Errorf("sampling: exit code %d\n%s%s", code, out, errs)
			}
		})
	}
}

// typing returns a terminal whose user types these lines.
func typing(text string) (*terminal, *strings.Builder) {
	var out strings.Builder
	return newTerminal(strings.NewReader(text), visible{&out}), &out
}

func TestTerminalForms(t *testing.T) {
	t.Parallel()
	const head = `{"type":"object","required":["a"],"properties":{"a":`
	tests := map[string]struct {
		field, typed string
		want         string // content, or the action
		out          string
	}{
		"text":                {`{"type":"string","title":"Your\nname","description":"in full"}`, "Ann Lee\n", `{"a":"Ann Lee"}`, "  Your name (text): in full\n  a: "},
		"text default":        {`{"type":"string","default":"x"}`, "\n", `{"a":"x"}`, "a [x]: "},
		"text required":       {`{"type":"string"}`, "\nx\n", `{"a":"x"}`, `an answer is required (for an empty text, type "")`},
		"text empty":          {`{"type":"string"}`, "\"\"\n", `{"a":""}`, ""},
		"email":               {`{"type":"string","format":"email"}`, "x\na@b\n", `{"a":"a@b"}`, "a: must be an email address"},
		"integer":             {`{"type":"integer","minimum":1,"maximum":9}`, "x\n1.5\n10\n9\n", `{"a":9}`, "(whole number, at least 1, at most 9)"},
		"integer, wrong":      {`{"type":"integer"}`, "x\n1\n", `{"a":1}`, "a: must be a number"},
		"integer, required":   {`{"type":"integer"}`, "\n1\n", `{"a":1}`, "a: an answer is required\n"},
		"number":              {`{"type":"number"}`, "-1.5e3\n", `{"a":-1500}`, ""},
		"boolean":             {`{"type":"boolean"}`, "maybe\nY\n", `{"a":true}`, "a: must be y or n"},
		"boolean no":          {`{"type":"boolean","default":true}`, "no\n", `{"a":false}`, "a [true]: "},
		"choice by number":    {`{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}]}`, "2\n", `{"a":"l"}`, "    1) Small (s)\n    2) Large (l)\n"},
		"choice by title":     {`{"type":"string","enum":["s","l"],"enumNames":["Small","Large"]}`, "large\n", `{"a":"l"}`, ""},
		"choice by value":     {`{"type":"string","enum":["2","1"]}`, "2\n", `{"a":"2"}`, "    1) 2\n    2) 1\n"},
		"choice, wrong":       {`{"type":"string","enum":["s","l"]}`, "m\n3\ns\n", `{"a":"s"}`, "a: must be a number from 1 to 2, or a name"},
		"choice, default":     {`{"type":"string","enum":["s","l"],"default":"l"}`, "\n", `{"a":"l"}`, "a [l]: "},
		"choices":             {`{"type":"array","items":{"enum":["x","y","z"]},"maxItems":2}`, "1,2,3\n1, z\n", `{"a":["x","z"]}`, "a: must have at most 2 of the choices"},
		"choices, default":    {`{"type":"array","items":{"enum":["x","y"]},"default":["x","y"]}`, "\n", `{"a":["x","y"]}`, "a [x, y]: "},
		"choices, none":       {`{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]},"default":["x"]}`, "-\n", `{"a":[]}`, ""},
		"list without choice": {`{"type":"array","items":{"type":"string"}}`, "p, q\n", `{"a":["p","q"]}`, ""},
		"any":                 {`{}`, "[1]\n", `{"a":[1]}`, "JSON or text"},
		"any text":            {`{}`, "x\n", `{"a":"x"}`, ""},
		"decline":             {`{"type":"string"}`, "!decline\n", "decline", ""},
		"cancel":              {`{"type":"string"}`, "!cancel\n", "cancel", ""},
		"end of input":        {`{"type":"string"}`, "", "cancel", ""},
		"unfinished line":     {`{"type":"string"}`, "x", `{"a":"x"}`, ""},
		"escapes":             {`{"type":"string","description":"\u001b[2Jx\u202ey"}`, "x\n", `{"a":"x"}`, `\x1b[2Jx\u202ey`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			term, out := typing(tt.typed)
			answer, err := term.elicit(t.Context(), &client.ElicitRequest{Message: "Well?\nWell", Schema: []byte(head + tt.field + "}}")})
			if err != nil {
				t.Fatal(err)
			}
			got := answer.Action
			if got == "accept" {
				raw, _ := json.Marshal(answer.Content)
				got = string(raw)
			}
			if want := strings.ReplaceAll(tt.want, "-1500", "-1.5e3"); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if !strings.Contains(out.String(), tt.out) || !strings.HasPrefix(out.String(), "\nThe server asks:\n  Well?\n  Well\n") {
				t.Errorf("shown:\n%s", out)
			}
		})
	}
}

func TestTerminalOptionalFields(t *testing.T) {
	t.Parallel()
	term, out := typing("\n7\n")
	answer, err := term.elicit(t.Context(), &client.ElicitRequest{Schema: []byte(`{"properties":{"a":{"type":"string"},"b":{"type":"integer"}}}`)})
	raw, _ := json.Marshal(answer.Content)
	if err != nil || string(raw) != `{"b":7}` || !strings.Contains(out.String(), "a (text, optional)") {
		t.Errorf("%s, %v\n%s", raw, err, out)
	}
	term, _ = typing("!decline\n")
	if answer, err := term.elicit(t.Context(), &client.ElicitRequest{Schema: []byte(`{"properties":{}}`)}); err != nil || answer.Action != "decline" {
		t.Errorf("%+v, %v", answer, err)
	}
	term, _ = typing("y\n")
	if answer, err := term.elicit(t.Context(), &client.ElicitRequest{Schema: []byte(`{}`)}); err != nil || answer.Action != "accept" {
		t.Errorf("%+v, %v", answer, err)
	}
}

func TestTerminalPages(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{"x\ny\n": "accept", "n\n": "decline", "!decline\n": "decline", "!cancel\n": "cancel", "": "cancel"} {
		term, out := typing(typed)
		answer, err := term.elicit(t.Context(), &client.ElicitRequest{Message: "Sign in.", URL: "https://a.example:8443/in?x=1"})
		if err != nil || answer.Action != want {
			t.Errorf("%q: %+v, %v", typed, answer, err)
		}
		if !strings.Contains(out.String(), "  URL:  https://a.example:8443/in?x=1\n  host: a.example:8443\n") {
			t.Errorf("shown:\n%s", out)
		}
	}
}

// After a question is withdrawn, the terminal is free for the next one.
func TestTerminalWithdrawn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, person := io.Pipe()
		term := newTerminal(in, io.Discard)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		q := &client.ElicitRequest{URL: "https://a.example"}
		if _, err := term.elicit(ctx, q); err != context.DeadlineExceeded { //nolint:errorlint // as it is
			t.Errorf("error %v", err)
		}
		go func() { _, _ = io.WriteString(person, "y\n") }()
		if answer, err := term.elicit(t.Context(), q); err != nil || answer.Action != "accept" {
			t.Errorf("%+v, %v", answer, err)
		}
	})
}

// The time of the user's answers does not count for the server.
func TestLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, l := limited(t.Context(), 3*time.Second)
		defer l.end()
		time.Sleep(2 * time.Second)
		l.hold()
		l.hold()
		time.Sleep(time.Hour)
		l.release()
		time.Sleep(time.Hour)
		l.release()
		time.Sleep(999 * time.Millisecond)
		synctest.Wait()
		if ctx.Err() != nil {
			t.Fatalf("ended early: %v", context.Cause(ctx))
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if err := context.Cause(ctx); err == nil || err.Error() != "the server took longer than 3s (--timeout)" {
			t.Errorf("cause %v", err)
		}
	})
}

// The error names what the user has to do before the call can succeed.
func TestFailuresThatAPersonCanRemedy(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"first\nThe server wants you to visit a page first. Then call again:\n  https://a.example/in (Sign in. Now.)": &protocol.Fault{
			Kind: protocol.FaultURLRequired, Message: "first",
			Elicitations: []protocol.ElicitParams{{URL: "https://a.example/in", Message: "Sign in.\nNow."}},
		},
		"no\nRun it in a terminal to answer, or use --answers, --sample or --root (see the help of the command).": &protocol.Fault{
			Kind: protocol.FaultMissingCapability, Message: "no",
		},
		"other": errors.New("other"),
	} {
		if got := failure(err); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

func TestErrorsCannotDriveTheTerminal(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, "\x1b[2Jno")
	}))
	defer s.Close()
	if _, errs, code := kagami(t, "tools", s.URL); code != 3 || !strings.Contains(errs, `\x1b[2Jno`) {
		t.Errorf("exit code %d\n%q", code, errs)
	}
}

// TestCtrlDAsACharacter checks Ctrl-D in a Windows console, which does not end the input at Ctrl-D.
func TestCtrlDAsACharacter(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{"\x04\r\n": errCancel, "ada\r\n": nil, "": errCancel} {
		if _, err := newTerminal(strings.NewReader(text), io.Discard).read(t.Context(), "name: "); !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", text, err, want)
		}
	}
}
