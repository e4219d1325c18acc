package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const everySchema = `{"type":"object","properties":{
	"city":{"type":"string"},
	"days":{"type":"integer"},
	"ratio":{"type":"number"},
	"wet":{"type":"boolean"},
	"note":{"type":["string","null"]},
	"id":{"type":["integer","string"]},
	"any":{},
	"level":{"enum":["low","high",3]},
	"cities":{"type":"array","items":{"type":"string"}},
	"sizes":{"type":"array","items":{"type":"integer"}},
	"points":{"type":"array","items":{"$ref":"#/$defs/point"}},
	"from":{"$ref":"#/$defs/point"},
	"labels":{"type":"object","additionalProperties":{"type":"string"}},
	"dotted.name":{"type":"integer"},
	"either":{"anyOf":[{"type":"integer"},{"type":"array","items":{"type":"integer"}}]},
	"tuple":{"type":"array","items":[{"type":"integer"}]},
	"tree":{"$ref":"#"}
},"$defs":{"point":{"type":"object","properties":{"x":{"type":"integer"},"name":{"type":"string"}}}}}`

func TestToolArguments(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"none", nil, `{}`},
		{"object", []string{`{"a": [1]}`}, `{"a": [1]}`},
		{"string stays", []string{"city=12"}, `{"city":"12"}`},
		{"string with equals sign", []string{"city=a=b"}, `{"city":"a=b"}`},
		{"empty string", []string{"city="}, `{"city":""}`},
		{"no HTML escapes", []string{"city=<&>"}, `{"city":"<&>"}`},
		{"string that looks like JSON", []string{`city={"a":1}`}, `{"city":"{\"a\":1}"}`},
		{"integer", []string{"days=2"}, `{"days":2}`},
		{"negative", []string{"days=-2"}, `{"days":-2}`},
		{"exact beyond float64", []string{"days=9007199254740993"}, `{"days":9007199254740993}`},
		{"not an integer is the server's to judge", []string{"days=ten"}, `{"days":"ten"}`},
		{"leading zero is no JSON number", []string{"days=007"}, `{"days":"007"}`},
		{"number", []string{"ratio=0.5"}, `{"ratio":0.5}`},
		{"whole number", []string{"ratio=2"}, `{"ratio":2}`},
		{"boolean", []string{"wet=true"}, `{"wet":true}`},
		{"not a boolean", []string{"wet=yes"}, `{"wet":"yes"}`},
		{"null where allowed", []string{"note=null"}, `{"note":null}`},
		{"string or null", []string{"note=hi"}, `{"note":"hi"}`},
		{"integer or string", []string{"id=7"}, `{"id":7}`},
		{"integer or string, text", []string{"id=x7"}, `{"id":"x7"}`},
		{"any JSON", []string{"any=[1,2]"}, `{"any":[1,2]}`},
		{"any text", []string{"any=hello"}, `{"any":"hello"}`},
		{"unknown key", []string{"nope=1"}, `{"nope":1}`},
		{"enum of strings", []string{"level=low"}, `{"level":"low"}`},
		{"enum of numbers", []string{"level=3"}, `{"level":3}`},
		{"list by comma", []string{"cities=Kyoto, Oslo"}, `{"cities":["Kyoto","Oslo"]}`},
		{"list by repetition", []string{"cities=Washington, D.C.", "days=1", "cities=Oslo"}, `{"cities":["Washington, D.C.","Oslo"],"days":1}`},
		{"list as JSON", []string{`cities=["a,b"]`}, `{"cities":["a,b"]}`},
		{"list of one", []string{"cities=Kyoto"}, `{"cities":["Kyoto"]}`},
		{"empty list", []string{"cities="}, `{"cities":[]}`},
		{"list of integers", []string{"sizes=1,2"}, `{"sizes":[1,2]}`},
		{"list of objects", []string{`points={"x":1}`, `points={"x":2}`}, `{"points":[{"x":1},{"x":2}]}`},
		{"list of one object", []string{`points={"x":1,"name":"a"}`}, `{"points":[{"x":1,"name":"a"}]}`},
		{"object as JSON", []string{`from={"x":1}`}, `{"from":{"x":1}}`},
		{"dotted keys", []string{"from.x=1", "days=2", "from.name=3"}, `{"from":{"x":1,"name":"3"},"days":2}`},
		{"map by dotted keys", []string{"labels.env=1"}, `{"labels":{"env":"1"}}`},
		{"map key with a dot", []string{"labels.a.b=1"}, `{"labels":{"a.b":"1"}}`},
		{"member with a dot in its name", []string{"dotted.name=4"}, `{"dotted.name":4}`},
		{"dot below a string", []string{"city.x=4"}, `{"city.x":4}`},
		{"alternative integer", []string{"either=1"}, `{"either":1}`},
		{"alternative list", []string{"either=1,2"}, `{"either":[1,2]}`},
		{"items of old drafts", []string{"tuple=1,a"}, `{"tuple":[1,"a"]}`},
		{"recursive", []string{"tree.tree.days=1"}, `{"tree":{"tree":{"days":1}}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := toolArguments(json.RawMessage(everySchema), tt.args, nil)
			if err != nil {
				t.Fatalf("toolArguments(%q): %v", tt.args, err)
			}
			if string(got) != tt.want {
				t.Errorf("toolArguments(%q)\n got %s\nwant %s", tt.args, got, tt.want)
			}
		})
	}
}

func TestToolArgumentsRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"no equals sign", []string{"Kyoto"}, `want key=value or one JSON object, got "Kyoto"`},
		{"no key", []string{"=Kyoto"}, `got "=Kyoto"`},
		{"object without quotes", []string{`{city:Kyoto}`}, "the shell may have removed its quotes"},
		{"broken object", []string{`{"a":`}, "not a valid JSON object"},
		{"twice", []string{"days=1", "days=2"}, "days is given 2 times"},
		{"whole and members", []string{`from={"x":1}`, "from.x=2"}, "from is given both as a whole and by its members"},
		{"text for an object", []string{"from=home"}, "from wants a JSON object or dotted keys"},
		{"text for an object in a list", []string{"points=a,b"}, "points[0] wants a JSON object"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := toolArguments(json.RawMessage(everySchema), tt.args, nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("toolArguments(%q) = %s, %v; want an error with %q", tt.args, got, err, tt.want)
			}
		})
	}
}

// A tool whose schema cannot be read is called as if it had none.
func TestToolArgumentsWithoutSchema(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{``, `{"properties":[]}`, `{"required":"a"}`} {
		got, err := toolArguments(json.RawMessage(schema), []string{"a=1", "b.c=x", "d=true", "d=no"}, nil)
		if err != nil || string(got) != `{"a":1,"b":{"c":"x"},"d":[true,"no"]}` {
			t.Errorf("%s: got %s, %v", schema, got, err)
		}
	}
}

// For any arguments, the result is JSON or an error.
func FuzzToolArguments(f *testing.F) {
	f.Add(everySchema, "from.x=1", "cities=a,b")
	f.Add(`{"properties":{"a":{"anyOf":[{"$ref":"#"},{"$ref":"#/properties/a"}]}}}`, "a.a=1", "a=[")
	f.Add(`{"$ref":"#"}`, "a=1", "a=2")
	f.Add(`{"items":[1],"type":3}`, "=", "a.=.")
	f.Fuzz(func(t *testing.T, schema, a, b string) {
		got, err := toolArguments(json.RawMessage(schema), []string{a, b}, nil)
		if err == nil && !json.Valid(got) {
			t.Errorf("%q %q with %s: not JSON: %s", a, b, schema, got)
		}
	})
}

// TestArgumentsFromFiles checks that bytes are encoded as the schema wants, and that texts do not
// change.
func TestArgumentsFromFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"note.txt": "a\nb\n", "all.json": `{"city":"Kyoto"}`, "blob": "\xff\x00", "days": "3", "marked.json": "\ufeff{\"city\":\"Kyoto\"}", "marked.txt": "\ufeffa"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	schema := json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"},"days":{"type":"integer"},"data":{"type":"string","contentEncoding":"base64"},` +
		`"files":{"type":"array","items":{"type":"string","contentEncoding":"base64"}},"who":{"type":"array","items":{"type":"string"}}}}`)
	for args, want := range map[string]string{
		"text=@DIR/note.txt":              `{"text":"a\nb\n"}`,
		"@DIR/marked.json":                `{"city":"Kyoto"}`,
		"text=@DIR/marked.txt":            `{"text":"a"}`,
		"data=@DIR/marked.txt":            `{"data":"77u/YQ=="}`,
		"days=@DIR/days":                  `{"days":3}`,
		"data=@DIR/blob":                  `{"data":"/wA="}`,
		"files=@DIR/blob files=@DIR/days": `{"files":["/wA=","Mw=="]}`,
		"files=@DIR/blob":                 `{"files":["/wA="]}`,
		"text=@-":                         `{"text":"{\"on\":\"stdin\"}"}`,
		"text=@@ada":                      `{"text":"@ada"}`,
		"who=ada,@bob":                    `{"who":["ada","@bob"]}`,
		"-":                               `{"on":"stdin"}`,
		"@DIR/all.json":                   `{"city":"Kyoto"}`,
		"text=@DIR/blob":                  "is not UTF-8 text",
		"text=@DIR/gone":                  "for a text that begins with @, write @@",
		"@DIR/days":                       "want one JSON object",
	} {
		got, err := toolArguments(schema, strings.Fields(strings.ReplaceAll(args, "DIR", dir)), strings.NewReader(`{"on":"stdin"}`))
		if err != nil && !strings.Contains(err.Error(), want) || err == nil && string(got) != want {
			t.Errorf("%s: %s, %v; want %s", args, got, err, want)
		}
	}
	if got, err := promptArguments([]string{"note=@" + filepath.Join(dir, "note.txt")}, nil); err != nil || got["note"] != "a\nb\n" {
		t.Errorf("of a prompt: %q, %v", got, err)
	}
}

// TestSaveResult checks that each block of bytes becomes a file.
func TestSaveResult(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "shot.png")
	out, errs, code := kagami(t, "call", everything, "test_multiple_content_types", "-o", path)
	image, err := os.ReadFile(path)
	second, missing := os.ReadFile(strings.TrimSuffix(path, ".png") + "-2.png")
	if code != 0 || err != nil || missing != nil || !strings.HasPrefix(string(image), "\x89PNG") || len(second) == 0 || strings.Contains(out, "[image") || !strings.Contains(errs, "wrote "+path) {
		t.Errorf("exit code %d, %v, %v\n%s%s", code, err, missing, out, errs)
	}
	if _, errs, code := kagami(t, "call", everything, "test_simple_text", "-o", path); code != 0 {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "This is a simple text response for testing.\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestPromptArguments(t *testing.T) {
	t.Parallel()
	got, err := promptArguments([]string{"city=Kyoto", "days=3", "note=a=b"}, nil)
	if err != nil || len(got) != 3 || got["city"] != "Kyoto" || got["days"] != "3" || got["note"] != "a=b" {
		t.Errorf("got %v, %v", got, err)
	}
	for _, args := range [][]string{{"city"}, {"=x"}, {"a=1", "a=2"}} {
		if got, err := promptArguments(args, nil); err == nil {
			t.Errorf("promptArguments(%q) = %v, want an error", args, got)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	tests := []struct {
		line string
		want []string
	}{
		{`"\\nas\tools\a.exe" 'b c'`, []string{`\nas\tools\a.exe`, "b c"}},
		{"node server.js", []string{"node", "server.js"}},
		{"  a   b\tc ", []string{"a", "b", "c"}},
		{`'a b' "c d"`, []string{"a b", "c d"}},
		{`a' 'b`, []string{"a b"}},
		{`a\ b 'c\d' "e\"f"`, []string{"a b", `c\d`, `e"f`}},
		{`'' a`, []string{"", "a"}},
		{"", nil},
	}
	for _, tt := range tests {
		if got, err := words(tt.line, "linux"); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("words(%q) = %q, %v; want %q", tt.line, got, err, tt.want)
		}
	}
	for line, want := range map[string][]string{
		`"\\nas\tools\a.exe" 'b c'`:   {`\\nas\tools\a.exe`, "b c"},
		`C:\data\ --x D:\`:            {`C:\data\`, "--x", `D:\`},
		`"C:\my data\\" x`:            {`C:\my data\`, "x"},
		`C:\tools\a.exe "{\"a\": 1}"`: {`C:\tools\a.exe`, `{"a": 1}`},
	} {
		if got, err := words(line, "windows"); err != nil || !slices.Equal(got, want) {
			t.Errorf("words(%q) on Windows = %q, %v; want %q", line, got, err, want)
		}
	}
	for _, line := range []string{`'a`, `"a`, `a\`} {
		if got, err := words(line, "linux"); err == nil {
			t.Errorf("words(%q) = %q, want an error", line, got)
		}
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"forecast", "compare", "test_simple_text", "plan_trip"}
	tests := []struct {
		name string
		want []string
	}{
		{"forcast", []string{"forecast"}},
		{"Forecast", []string{"forecast"}},
		{"simple_text", []string{"test_simple_text"}},
		{"trip", []string{"plan_trip"}},
		{"zzz", []string{}},
	}
	for _, tt := range tests {
		if got := nearest(tt.name, names); !slices.Equal(got, tt.want) {
			t.Errorf("nearest(%q) = %q, want %q", tt.name, got, tt.want)
		}
	}
	if got := unlisted(errors.New("no such tool"), "tool", "forcast", names); !strings.Contains(got, "Did you mean forecast? It lists: forecast, compare") {
		t.Errorf("unlisted: %s", got)
	}
	if got := unlisted(errors.New(`unknown tool. Did you mean "forecast"?`), "tool", "forcast", names); strings.Contains(got, "Did you mean") {
		t.Errorf("unlisted repeats what the server says: %s", got)
	}
}

// TestListOrNull checks that items get their type if the schema also allows null, as servers in Python
// write optional lists.
func TestListOrNull(t *testing.T) {
	t.Parallel()
	blob := filepath.Join(t.TempDir(), "blob")
	if err := os.WriteFile(blob, []byte("\xff\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	const schema = `{"type":"object","properties":{"ids":{"anyOf":[{"type":"array","items":{"type":"string"}},{"type":"null"}]},` +
		`"data":{"anyOf":[{"type":"string","contentEncoding":"base64"},{"type":"null"}]}}}`
	for args, want := range map[string]string{
		"ids=1": `{"ids":["1"]}`, "ids=1,2": `{"ids":["1","2"]}`, "ids=1 ids=true": `{"ids":["1","true"]}`,
		"ids=null": `{"ids":null}`, "ids=[1]": `{"ids":[1]}`, "data=@" + blob: `{"data":"/wA="}`,
	} {
		if got, err := toolArguments(json.RawMessage(schema), strings.Fields(args), nil); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", args, got, err, want)
		}
	}
}

// TestTextOrBytes checks that a file of text stays text if the schema takes text or bytes.
func TestTextOrBytes(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	const schema = `{"type":"object","properties":{"note":{"anyOf":[{"type":"string"},{"type":"string","contentEncoding":"base64"}]}}}`
	for content, want := range map[string]string{"hello": `{"note":"hello"}`, "\xff\x00": `{"note":"/wA="}`} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := toolArguments(json.RawMessage(schema), []string{"note=@" + file}, nil); err != nil || string(got) != want {
			t.Errorf("%q: %s, %v; want %s", content, got, err, want)
		}
	}
}

func TestShellWord(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ word, unix, windows string }{
		{"weather", "weather", "weather"},
		{"", "''", `""`},
		{`C:\tools\a.exe`, `'C:\tools\a.exe'`, `C:\tools\a.exe`},
		{`C:\Program Files\a.exe`, `'C:\Program Files\a.exe'`, `"C:\Program Files\a.exe"`},
		{"@a.json", "@a.json", `"@a.json"`},
		{"it's", `'it'\''s'`, `"it's"`},
		{`C:\my data\`, `'C:\my data\'`, `"C:\my data\\"`},
		{"it's 5%", `'it'\''s 5%'`, `'it''s 5%'`},
		{`{"a":1}`, `'{"a":1}'`, `'{"a":1}'`},
	} {
		if unix, windows := shellWord(tt.word, "linux"), shellWord(tt.word, "windows"); unix != tt.unix || windows != tt.windows {
			t.Errorf("%s: got %s and %s", tt.word, unix, windows)
		}
	}
	line := "--cmd " + shellWord(shellLine([]string{`C:\Program Files\a.exe`, "--stdio"}, "unix"), "windows")
	if want := `--cmd "'C:\Program Files\a.exe' --stdio"`; line != want {
		t.Errorf("got %s, want %s", line, want)
	}
}
