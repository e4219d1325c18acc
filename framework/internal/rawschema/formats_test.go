package rawschema_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/rawschema"
)

func sorted(texts []string) []string {
	texts = slices.Clone(texts)
	slices.Sort(texts)
	return texts
}

func TestFormats(t *testing.T) {
	t.Parallel()
	for format, texts := range map[string]struct{ good, bad string }{
		"date-time":             {"2026-01-31T15:04:05Z 2026-01-31t15:04:05.25+01:00", "2026-01-31 2026-02-30T15:04:05Z 2026-01-31T15:04:05"},
		"date":                  {"2026-01-31", "2026-1-31 2026-02-30 31.1.2026"},
		"time":                  {"15:04:05Z 15:04:05.5+01:00", "15:04:05 25:04:05Z"},
		"email":                 {"a@example.com a.b+c@d.example", "a a@ @b"},
		"hostname":              {"example.com a-b.c localhost example.com.", "-a.com a_b.com a..b " + strings.Repeat("a", 64)},
		"ipv4":                  {"192.0.2.1", "192.0.2 192.0.2.256 ::1"},
		"ipv6":                  {"::1 2001:db8::1", "192.0.2.1 1:2 fe80::1%eth0"},
		"uri":                   {"https://example.com/a?b#c urn:isbn:0", "/a example.com https://a|b"},
		"uri-reference":         {"/a #b ../c https://example.com", `a\b %zz`},
		"uuid":                  {"f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "f81d4fae7dec11d0a76500a0c91e6bf6"},
		"json-pointer":          {"/a/b~0~1 / //", "a /a~2 /~ a~0"},
		"relative-json-pointer": {"0 1/a 2# 10 0/", "/a 01 -1 # 1a 1#/ 1/~ 00 1~0"},
		"regex":                 {"^a+$", "("},
		"unheard-of":            {"anything", ""},
	} {
		s, err := rawschema.Compile([]byte(`{"$schema":"http://json-schema.org/draft-07/schema#","format":"` + format + `"}`))
		if err != nil {
			t.Fatal(err)
		}
		for text := range strings.FieldsSeq(texts.good) {
			if !s.Accepts(quoted(text)) {
				t.Errorf("%s is no %s", text, format)
			}
		}
		for text := range strings.FieldsSeq(texts.bad) {
			if s.Accepts(quoted(text)) {
				t.Errorf("%s is a %s", text, format)
			}
		}
		if !s.Accepts([]byte("7")) {
			t.Errorf("%s is about more than texts", format)
		}
	}
}

// TestFormatsOnMegabytes: what is too long for a format is refused before it is parsed. A regular
// expression of 4 MB took 5 to 20 seconds.
func TestFormatsOnMegabytes(t *testing.T) {
	t.Parallel()
	for format, unit := range map[string]string{
		"regex": "(", "email": `(a|b)*`, "date-time": "é", "json-pointer": "/~0", "relative-json-pointer": "1/~0", "uuid": "0", "hostname": "a.",
	} {
		s, err := rawschema.Compile([]byte(`{"$schema":"http://json-schema.org/draft-07/schema#","format":"` + format + `"}`))
		if err != nil {
			t.Fatal(err)
		}
		text, took := quoted(strings.Repeat(unit, 4_000_000/len(unit))), time.Hour
		for range 3 { // a busy machine interrupts some
			began := time.Now()
			s.Accepts(text)
			took = min(took, time.Since(began))
		}
		if took > 2*time.Second {
			t.Errorf("%s took %v", format, took)
		}
	}
}

func quoted(text string) []byte { return []byte(`"` + strings.ReplaceAll(text, `\`, `\\`) + `"`) }
