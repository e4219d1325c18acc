package rules_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
)

// page is docs/validation.md. This test writes the tables of the page from what Compile does with each tag.
const page = "../../../../docs/validation.md"

var update = flag.Bool("update", false, "write the tables of docs/validation.md again")

// pageKinds are the kinds of the tables, each with a type that stands for it.
var pageKinds = []struct {
	name string
	t    reflect.Type
}{
	{"text", reflect.TypeFor[string]()},
	{"integer", reflect.TypeFor[int]()},
	{"number", reflect.TypeFor[float64]()},
	{"boolean", reflect.TypeFor[bool]()},
	{"list", reflect.TypeFor[[]string]()},
	{"map", reflect.TypeFor[map[string]string]()},
	{"time", reflect.TypeFor[time.Time]()},
	{"duration", reflect.TypeFor[time.Duration]()},
}

// pageGroup is one table: tags with an example parameter, on the kinds named.
type pageGroup struct {
	title, intro string
	kinds        string // separated by spaces
	tags         string // separated by newlines or spaces, `_` in a parameter stands for a space
}

var pageGroups = []pageGroup{
	{
		"Size and bounds", "Rules measure a text in characters, a list in items, a map in members, a number by its value.",
		"text integer number list map", "min=3 max=3 len=3 gte=3 lte=3 gt=3 lt=3",
	},
	{
		"Bounds of durations", "", "duration", "min=3s max=3s len=3s gte=3s lte=3s gt=3s lt=3s eq=3s ne=3s",
	},
	{
		"Bounds of times", "The bound is the moment of the call.", "time", "gte lte gt lt",
	},
	{
		"Equality and choice", "Spaces separate the values of a list. Put a value with spaces in 'single quotes'.",
		"text integer number", "eq=3 ne=3 oneof=3_5 noneof=3_5",
	},
	{
		"Choice without regard to case", "", "text", "oneofci=a_b noneofci=a_b eq_ignore_case=a ne_ignore_case=a",
	},
	{
		"Equality of booleans", "", "boolean", "eq=true ne=true",
	},
	{
		"Difference", "For a list of structs, name a field: `unique=Name`.", "list map", "unique",
	},
	{
		"Parts of texts", "", "text",
		"startswith=ab endswith=ab contains=ab containsany=ab containsrune=a startsnotwith=ab endsnotwith=ab excludes=ab excludesall=ab excludesrune=a",
	},
	{
		"Characters", "", "text",
		"alpha alphaspace alphanum alphanumspace alphaunicode alphanumunicode numeric number hexadecimal boolean ascii printascii multibyte lowercase uppercase isdefault",
	},
	{
		"Identifiers and hashes", "", "text",
		"uuid uuid_rfc4122 uuid3 uuid3_rfc4122 uuid4 uuid4_rfc4122 uuid5 uuid5_rfc4122 uuid7 ulid mongodb md4 md5 sha256 sha384 sha512 " +
			"ripemd128 ripemd160 tiger128 tiger160 tiger192 semver cve spicedb isbn isbn10 isbn13 issn ein ssn e164 credit_card luhn_checksum " +
			"bic bic_iso_9362_2014 btc_addr btc_addr_bech32 eth_addr eth_addr_checksum",
	},
	{
		"Networks and addresses", "", "text",
		"email url uri http_url https_url origin urn_rfc2141 urn_rfc8141 datauri hostname hostname_rfc1123 hostname_label fqdn dns_rfc1035_label " +
			"hostname_port ip ipv4 ipv6 cidr cidrv4 cidrv6 mac mongodb_connection_string",
	},
	{
		"Encodings and formats", "The parameter of `datetime` is a layout of Go's package time.", "text",
		"datetime=2006-01-02 datetime=2006-01-02T15:04:05Z07:00 datetime=02.01.2006 timezone duration cron json jwt html html_encoded url_encoded " +
			"base32 base64 base64url base64rawurl hexcolor rgb rgba hsl hsla cmyk iscolor latitude longitude",
	},
	{
		"Countries, languages and money", "", "text",
		"iso3166_1_alpha2 iso3166_1_alpha2_eu iso3166_1_alpha3 iso3166_1_alpha3_eu iso3166_1_alpha_numeric iso3166_1_alpha_numeric_eu iso3166_2 " +
			"country_code eu_country_code iso4217 bcp47_language_tag bcp47_strict_language_tag postcode_iso3166_alpha2=NL postcode_iso3166_alpha2_field=Other",
	},
	{
		"Numbers as codes", "", "integer", "iso4217_numeric port",
	},
	{
		"Other members", "The parameter is the Go name of a field; texts for clients have its JSON name. The tags with `cs` may name a field of another struct.\n\nA field that was left out counts as its zero value. A nil pointer breaks each rule that names it. For a range with optional bounds, use `omitzero` instead of pointers, and give the upper bound the rule (`gtfield`).", "text",
		"eqfield=Other nefield=Other gtfield=Other gtefield=Other ltfield=Other ltefield=Other eqcsfield=Other necsfield=Other gtcsfield=Other gtecsfield=Other " +
			"ltcsfield=Other ltecsfield=Other fieldcontains=Other fieldexcludes=Other",
	},
	{
		"Presence by other members", "Give these members `omitempty` in the `json` tag, so that a client may leave them out.", "text",
		"required_if=Other_x required_unless=Other_x skip_unless=Other_x required_with=Other required_with_all=Other required_without=Other " +
			"required_without_all=Other excluded_if=Other_x excluded_unless=Other_x excluded_with=Other excluded_with_all=Other excluded_without=Other excluded_without_all=Other",
	},
}

// structuralTags control how values are read. The prose of the page describes them.
var structuralTags = []string{"required", "omitempty", "omitnil", "omitzero", "dive", "keys", "endkeys", "structonly", "nostructlevel"}

// pageBegin and pageEnd enclose the tables in the page. The text around them is written by hand.
const (
	pageBegin = "<!-- rules, written by go test ./framework/internal/binding/rules -run TestValidationPage -update -->\n"
	pageEnd   = "\n<!-- end of rules -->\n"
)

func TestValidationPage(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	listed := map[string]bool{}
	for _, g := range pageGroups {
		fmt.Fprintf(&out, "\n#### %s\n\n", g.title)
		if g.intro != "" {
			out.WriteString(g.intro + "\n\n")
		}
		out.WriteString("| Tag | Kinds | Schema |\n|---|---|---|\n")
		for tag := range strings.FieldsSeq(g.tags) {
			tag = strings.ReplaceAll(tag, "=", "\x00")
			name, param, _ := strings.Cut(tag, "\x00")
			listed[name] = true
			if param != "" {
				name += "=" + strings.ReplaceAll(param, "_", " ")
			}
			for _, row := range pageRows(t, name, strings.Fields(g.kinds)) {
				out.WriteString(row)
			}
		}
	}
	out.WriteString("\n#### Refused at Build\n\nThese tags access files, sockets or name servers with a value from the caller. `Build` does not look into types that read their own JSON; there, these tags have no effect:\n\n")
	for _, tag := range rules.ForbiddenTags() {
		listed[tag] = true
		if p, _ := binding.Compile(pageStruct(reflect.TypeFor[string](), tag), binding.Input, binding.Options{}); p != nil {
			t.Errorf("%s is not refused", tag)
		}
		out.WriteString("- `" + tag + "`\n")
	}
	for _, tag := range rules.KnownTags() {
		if !listed[tag] && !slices.Contains(structuralTags, tag) {
			t.Errorf("%s is in no table", tag)
		}
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(text), pageBegin)
	tables, after, ends := strings.Cut(rest, pageEnd)
	if !begins || !ends {
		t.Fatalf("%s has no place for the tables: want %q and %q", page, pageBegin, pageEnd)
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+pageBegin+out.String()+pageEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if tables != out.String() {
		t.Error("the tables of docs/validation.md are not what the rules do; run this test with -update")
	}
}

// TestSentencesShowWhatPasses checks that the example in the sentence of a rule passes the rule.
func TestSentencesShowWhatPasses(t *testing.T) {
	t.Parallel()
	seen := 0
	for tag, sentence := range rules.Sentences() {
		_, example, ok := strings.Cut(strings.TrimSuffix(sentence, "."), "such as ")
		if !ok {
			continue
		}
		seen++
		raw, typ := jsonText(example), reflect.TypeFor[string]()
		if tag == "iso4217_numeric" {
			raw, typ = example, reflect.TypeFor[int]()
		}
		p := mustCompile(t, pageStruct(typ, tag), binding.Input, binding.Options{})
		if _, err := p.Decode(t.Context(), []byte(`{"v":`+raw+`}`), reflect.New(p.Type()).Elem()); err != nil {
			t.Errorf("%s: %v", tag, err)
		}
	}
	if seen < 30 {
		t.Errorf("only %d examples", seen)
	}
}

func jsonText(s string) string {
	raw, _ := json.Marshal(s)
	return string(raw)
}

func pageStruct(t reflect.Type, tag string) reflect.Type {
	v := reflect.StructField{Name: "V", Type: t, Tag: `json:"v,omitempty"`}
	if tag != "" {
		v.Tag += reflect.StructTag(` validate:"` + tag + `"`)
	}
	return reflect.StructOf([]reflect.StructField{v, {Name: "Other", Type: t, Tag: `json:"other,omitempty"`}})
}

// pageRows returns the rows of one tag. Kinds with the same effect share a row.
func pageRows(t *testing.T, tag string, kinds []string) []string {
	t.Helper()
	var effects []string
	byEffect := map[string][]string{}
	for _, k := range pageKinds {
		if !slices.Contains(kinds, k.name) {
			continue
		}
		effect := pageEffect(t, k.t, tag)
		if byEffect[effect] == nil {
			effects = append(effects, effect)
		}
		byEffect[effect] = append(byEffect[effect], k.name)
	}
	var rows []string
	for _, effect := range effects {
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |\n", tag, strings.Join(byEffect[effect], ", "), effect))
	}
	return rows
}

// pageEffect returns what the tag adds to the schema of a member.
func pageEffect(t *testing.T, typ reflect.Type, tag string) string {
	t.Helper()
	p, faults := binding.Compile(pageStruct(typ, tag), binding.Input, binding.Options{})
	if p == nil {
		if len(faults) == 0 || strings.Contains(faults[0].Problem, "does not exist") {
			t.Errorf("%s on %s: %v", tag, typ, faults)
		}
		return "refused at Build"
	}
	before := memberSchema(t, mustCompile(t, pageStruct(typ, ""), binding.Input, binding.Options{}))
	after := memberSchema(t, p)
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if string(after[name]) == string(before[name]) {
			continue
		}
		if name == "description" {
			text := strings.TrimPrefix(textOf(t, after[name]), textOf(t, before[name]))
			parts = append(parts, "“"+strings.TrimSpace(text)+"”")
			continue
		}
		parts = append(parts, "`"+clipped(name+": "+string(after[name]))+"`")
	}
	if len(parts) == 0 {
		return "nothing to add"
	}
	return strings.ReplaceAll(strings.Join(parts, ", "), "|", `\|`)
}

func textOf(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var s string
	if len(raw) > 0 && json.Unmarshal(raw, &s) != nil {
		t.Fatalf("%s is no text", raw)
	}
	return s
}

func clipped(s string) string {
	if runes := []rune(s); len(runes) > 90 {
		return string(runes[:90]) + "…"
	}
	return s
}

func memberSchema(t *testing.T, p *binding.Plan) map[string]json.RawMessage {
	t.Helper()
	var schema struct {
		Properties map[string]map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(p.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	return schema.Properties["v"]
}
