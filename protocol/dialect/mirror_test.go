package dialect_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/protocol/dialect"
)

// The tables of SEP-2243, as 2026-07-28 basic/transports/streamable-http keeps them.
func TestMirrorEncoding(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, header string }{
		{"us-west1", "us-west1"},
		{"Hello, World", "Hello, World"},
		{"", ""},
		{"file:///path/to/file%20name.txt", "file:///path/to/file%20name.txt"},
		{"~!@#$%^&*()_+`-=[]{}|;':\",./<>?", "~!@#$%^&*()_+`-=[]{}|;':\",./<>?"},
		{"Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="},
		{" padded ", "=?base64?IHBhZGRlZCA=?="},
		{" leading", "=?base64?IGxlYWRpbmc=?="},
		{"trailing ", "=?base64?dHJhaWxpbmcg?="},
		{" ", "=?base64?IA==?="},
		{"\ttab", "=?base64?CXRhYg==?="},
		{"in\tside", "=?base64?aW4Jc2lkZQ==?="},
		{"line1\nline2", "=?base64?bGluZTEKbGluZTI=?="},
		{"line1\r\nline2", "=?base64?bGluZTENCmxpbmUy?="},
		{"\x00", "=?base64?AA==?="},
		{"\x7f", "=?base64?fw==?="},
		{"\u00a0", "=?base64?wqA=?="},
		{"=?base64?SGVsbG8=?=", "=?base64?PT9iYXNlNjQ/U0dWc2JHOD0/PQ==?="},
		{"=?base64??=", "=?base64?PT9iYXNlNjQ/Pz0=?="},
		// Only both sentinels together, in this case, mean anything.
		{"=?base64?SGVsbG8=", "=?base64?SGVsbG8="},
		{"SGVsbG8=?=", "SGVsbG8=?="},
		{"=?BASE64?SGVsbG8=?=", "=?BASE64?SGVsbG8=?="},
		{"=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="},
	}
	for _, tt := range tests {
		if got := dialect.EncodeMirror(tt.text); got != tt.header {
			t.Errorf("%q is encoded as %q, want %q", tt.text, got, tt.header)
		}
		if got, err := dialect.DecodeMirror(tt.header); err != nil || got != tt.text {
			t.Errorf("%q is decoded as %q, %v; want %q", tt.header, got, err, tt.text)
		}
	}
}

func TestMirrorDecoding(t *testing.T) {
	t.Parallel()
	tests := []struct {
		header, text string
		ok           bool
	}{
		{"=?base64?SGVsbG8=?=", "Hello", true}, // encoded without need
		{"=?base64??=", "", true},
		{"=?base64?=", "=?base64?=", true}, // the marks overlap: not both are there
		{"=?Base64?SGVsbG8=?=", "=?Base64?SGVsbG8=?=", true},
		{"=?base64?SGVsbG8?=", "", false},                  // no padding
		{"=?base64?SGVsbG8==?=", "", false},                // too much
		{"=?base64?SGVs!!!bG8=?=", "", false},              // not the alphabet
		{"=?base64?SGVs bG8=?=", "", false},                // nor this
		{"=?base64?SGVsbG9=?=", "", false},                 // bits after the end
		{"=?base64?_-8=?=", "", false},                     // the alphabet of URLs
		{"=?base64?SGVs\r\nbG8=?=", "", false},             // what Go's decoder skips
		{"=?base64?SGVsbG8=?= =?base64?IQ==?=", "", false}, // one value, not two
		{"größe", "", false},
		{"a\tb", "", false},
		{" a", "", false},
		{"a\x00", "", false},
	}
	for _, tt := range tests {
		got, err := dialect.DecodeMirror(tt.header)
		if (err == nil) != tt.ok || got != tt.text {
			t.Errorf("%q is decoded as %q, %v", tt.header, got, err)
		}
	}
}

func FuzzMirrorEncoding(f *testing.F) {
	for _, seed := range []string{"", "a", " a", "=?base64?YQ==?=", "ä", "=?base64?=", "=?base64?Y?="} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		header := dialect.EncodeMirror(text)
		for _, b := range []byte(header) {
			if b < ' ' || b > '~' {
				t.Fatalf("%q is encoded as %q", text, header)
			}
		}
		if header != strings.TrimSpace(header) {
			t.Fatalf("%q is encoded as %q", text, header)
		}
		if back, err := dialect.DecodeMirror(header); err != nil || back != text {
			t.Fatalf("%q by way of %q is %q, %v", text, header, back, err)
		}
		if plain, err := dialect.DecodeMirror(text); err == nil && plain != text && dialect.EncodeMirror(text) == text {
			t.Fatalf("%q is ambiguous", text)
		}
	})
}

func schemaOf(properties string) string {
	return `{"type":"object","properties":{` + properties + `}}`
}

// declaring returns n properties with a header each.
func declaring(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"p%d":{"type":"string","x-mcp-header":"H%d"}`, i, i)
	}
	return b.String()[1:]
}

func TestMirrors(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ schema, want, err string }{
		"none":                           {schema: `{"type":"object"}`},
		"true":                           {schema: `true`},
		"in order":                       {schema: schemaOf(`"b":{"type":"string","x-mcp-header":"B"},"a":{"type":"integer","x-mcp-header":"A"},"c":{"x-mcp-header":"C-1","type":"boolean"}`), want: "B:b:false A:a:true C-1:c:false"},
		"nested":                         {schema: schemaOf(`"o":{"type":"object","properties":{"p":{"type":"object","properties":{"q":{"type":"string","x-mcp-header":"Q"}}}}}`), want: "Q:o/p/q:false"},
		"named like Mcp-Method":          {schema: schemaOf(`"a":{"type":"string","x-mcp-header":"Method"}`), want: "Method:a:false"},
		"any token":                      {schema: schemaOf("\"a\":{\"type\":\"string\",\"x-mcp-header\":\"a!#$%&'*+.^_`|~-9\"}"), want: "a!#$%&'*+.^_`|~-9:a:false"},
		"a property called x-mcp-header": {schema: schemaOf(`"x-mcp-header":{"type":"object"}`)},
		"a property called default":      {schema: schemaOf(`"default":{"type":"string","x-mcp-header":"D"}`), want: "D:default:false"},
		"a property called properties":   {schema: schemaOf(`"properties":{"type":"string","x-mcp-header":"P"}`), want: "P:properties:false"},
		"in values":                      {schema: schemaOf(`"a":{"type":"object","default":{"x-mcp-header":"A"},"const":{"x-mcp-header":1},"enum":[{"x-mcp-header":""}],"examples":[{"x-mcp-header":"A"}]}`)},
		"very deep":                      {schema: strings.Repeat(`{"properties":{"a":`, 500) + schemaOf(`"p":{"type":"string","x-mcp-header":"P"}`) + strings.Repeat("}}", 500)},
		"escaped keyword":                {schema: schemaOf(`"a":{"type":"string","x-mcp-h\u0065ader":"A"}`), want: "A:a:false"},

		"too many":                   {schema: schemaOf(declaring(129)), err: "more than 128"},
		"empty":                      {schema: schemaOf(`"a":{"type":"string","x-mcp-header":""}`), err: "not a header name"},
		"null":                       {schema: schemaOf(`"a":{"type":"string","x-mcp-header":null}`), err: "not a header name"},
		"a number":                   {schema: schemaOf(`"a":{"type":"string","x-mcp-header":1}`), err: "not a header name"},
		"an object":                  {schema: schemaOf(`"a":{"type":"string","x-mcp-header":{}}`), err: "not a header name"},
		"an array":                   {schema: schemaOf(`"a":{"type":"string","x-mcp-header":["A"]}`), err: "not a header name"},
		"a space":                    {schema: schemaOf(`"a":{"type":"string","x-mcp-header":"A B"}`), err: "not a header name"},
		"a space at the end":         {schema: schemaOf(`"a":{"type":"string","x-mcp-header":"A "}`), err: "not a header name"},
		"a line end":                 {schema: schemaOf(`"a":{"type":"string","x-mcp-header":"A\n"}`), err: "not a header name"},
		"a colon":                    {schema: schemaOf(`"a":{"type":"string","x-mcp-header":"A:B"}`), err: "not a header name"},
		"non-ASCII":                  {schema: schemaOf(`"a":{"type":"string","x-mcp-header":"Ä"}`), err: "not a header name"},
		"control":                    {schema: schemaOf(`"a":{"type":"string","x-mcp-header":"A\u0001"}`), err: "not a header name"},
		"twice":                      {schema: schemaOf(`"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"A"}`), err: "declared twice"},
		"twice, by case":             {schema: schemaOf(`"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"object","properties":{"c":{"type":"string","x-mcp-header":"a"}}}`), err: "declared twice"},
		"number":                     {schema: schemaOf(`"a":{"type":"number","x-mcp-header":"A"}`), err: "of type"},
		"object":                     {schema: schemaOf(`"a":{"type":"object","x-mcp-header":"A"}`), err: "of type"},
		"array":                      {schema: schemaOf(`"a":{"type":"array","x-mcp-header":"A"}`), err: "of type"},
		"no type":                    {schema: schemaOf(`"a":{"x-mcp-header":"A"}`), err: "of type"},
		"several types":              {schema: schemaOf(`"a":{"type":["string","null"],"x-mcp-header":"A"}`), err: "of type"},
		"at the root":                {schema: `{"type":"string","x-mcp-header":"A"}`, err: "properties alone"},
		"items":                      {schema: schemaOf(`"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}`), err: "properties alone"},
		"items' property":            {schema: schemaOf(`"a":{"type":"array","items":{"type":"object","properties":{"b":{"type":"string","x-mcp-header":"A"}}}}`), err: "properties alone"},
		"prefixItems":                {schema: schemaOf(`"a":{"prefixItems":[{"type":"string","x-mcp-header":"A"}]}`), err: "properties alone"},
		"oneOf":                      {schema: schemaOf(`"a":{"oneOf":[{"type":"string","x-mcp-header":"A"}]}`), err: "properties alone"},
		"allOf at the root":          {schema: `{"allOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}`, err: "properties alone"},
		"$defs":                      {schema: `{"properties":{"a":{"$ref":"#/$defs/X"}},"$defs":{"X":{"type":"string","x-mcp-header":"A"}}}`, err: "properties alone"},
		"a $def called default":      {schema: `{"$defs":{"default":{"type":"string","x-mcp-header":"A"}}}`, err: "properties alone"},
		"a $def called x-mcp-header": {schema: `{"$defs":{"x-mcp-header":{"type":"string"}}}`},
		"definitions":                {schema: `{"definitions":{"enum":{"type":"string","x-mcp-header":"A"}}}`, err: "properties alone"},
		"properties that are none":   {schema: `{"properties":["x-mcp-header"]}`},
		"additionalProperties":       {schema: `{"additionalProperties":{"type":"string","x-mcp-header":"A"}}`, err: "properties alone"},
		"patternProperties":          {schema: `{"patternProperties":{"^x":{"type":"string","x-mcp-header":"A"}}}`, err: "properties alone"},
		"if":                         {schema: `{"if":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}`, err: "properties alone"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mirrors, err := dialect.Mirrors([]byte(tt.schema))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || mirrors != nil {
					t.Errorf("%v, %v; want error %q", mirrors, err, tt.err)
				}
				return
			}
			var got []string
			for _, m := range mirrors {
				got = append(got, fmt.Sprintf("%s:%s:%v", strings.TrimPrefix(m.Header, dialect.MirrorPrefix), strings.Join(m.Path, "/"), m.Integer))
			}
			if err != nil || strings.Join(got, " ") != tt.want {
				t.Errorf("%v, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestMirrorValue(t *testing.T) {
	t.Parallel()
	tests := []struct {
		path, arguments, text string
		present               bool
	}{
		{"a", `{"a":"x"}`, "x", true},
		{"a/b", `{"a":"{\"b\":\"x\"}"}`, "x", true},
		{"a", `"{\"a\":1}"`, "1", true},
		{"a", `"x"`, "", false},
		{"a", `""`, "", false},
		{"a", `{"a":""}`, "", true},
		{"a", `{"a":"\u00e9\n"}`, "é\n", true},
		{"a", `{"a":42}`, "42", true},
		{"a", `{"a":42.0}`, "42.0", true},
		{"a", `{"a":9007199254740993}`, "9007199254740993", true},
		{"a", `{"a":true}`, "true", true},
		{"a", `{"a":false}`, "false", true},
		{"a", `{"a":null}`, "", false},
		{"a", `{"A":"x"}`, "", false},
		{"a", `{}`, "", false},
		{"a", `null`, "", false},
		{"a", ``, "", false},
		{"a/b", `{"a":{"b":"x"}}`, "x", true},
		{"a/b", `{"a":{"b":null}}`, "", false},
		{"a/b", `{"a":{}}`, "", false},
		{"a/b", `{"a":null}`, "", false},
		{"a/b", `{"a":"b"}`, "", false},
		{"a/b", `{"a":[{"b":1}]}`, "", false},
	}
	for _, tt := range tests {
		m := dialect.Mirror{Path: strings.Split(tt.path, "/")}
		if text, present := m.Value([]byte(tt.arguments)); text != tt.text || present != tt.present {
			t.Errorf("%s of %s is %q, %v", tt.path, tt.arguments, text, present)
		}
	}
}

func TestMirrorSame(t *testing.T) {
	t.Parallel()
	tests := []struct {
		integer          bool
		header, argument string
		same             bool
	}{
		{false, "a", "a", true},
		{false, "a", "A", false},
		{false, "true", "True", false},
		{false, "", "", true},
		{false, "42", "42.0", false}, // texts
		{true, "42", "42.0", true},
		{true, "42.0", "42", true},
		{true, "4.2e1", "42", true},
		{true, "-0", "0", true},
		{true, "42.5", "42", false},
		{true, "9007199254740993", "9007199254740992", false}, // equal as float64
		{true, "042", "42", false},
		{true, "0x2a", "42", false},
		{true, "+42", "42", false},
		{true, "", "0", false},
		{true, "1e999999999", "1", false},
		{true, "99999999999999999999999", "99999999999999999999999", true},
	}
	for _, tt := range tests {
		m := dialect.Mirror{Integer: tt.integer}
		if got := m.Same(tt.header, tt.argument); got != tt.same {
			t.Errorf("%q and %q (integer: %v): %v", tt.header, tt.argument, tt.integer, got)
		}
	}
}

func TestMirrorName(t *testing.T) {
	t.Parallel()
	tests := []struct {
		method, params, text string
		ok                   bool
	}{
		{"tools/call", `{"name":"n","uri":"u"}`, "n", true},
		{"prompts/get", `{"name":"n"}`, "n", true},
		{"resources/read", `{"name":"n","uri":"u"}`, "u", true},
		{"tasks/get", `{"taskId":"t"}`, "t", true},
		{"tasks/update", `{"taskId":"t"}`, "t", true},
		{"tasks/cancel", `{"taskId":"t"}`, "t", true},
		{"tools/call", `{"name":1}`, "", true},
		{"tools/call", `{}`, "", true},
		{"tools/call", `[]`, "", true},
		{"tools/call", ``, "", true},
		{"tools/list", `{"name":"n"}`, "", false},
		{"initialize", `{"name":"n"}`, "", false},
		{"resources/subscribe", `{"uri":"u"}`, "", false},
		{"Tools/Call", `{"name":"n"}`, "", false},
	}
	for _, tt := range tests {
		if text, ok := dialect.MirrorName(tt.method, []byte(tt.params)); text != tt.text || ok != tt.ok {
			t.Errorf("%s %s: %q, %v", tt.method, tt.params, text, ok)
		}
	}
}
