package rawschema

import (
	"cmp"
	"embed"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// version is a dialect of JSON Schema, by its number or year.
type version int

const (
	draft4    version = 4
	draft6    version = 6
	draft7    version = 7
	draft2019 version = 2019
	draft2020 version = 2020
)

// dialects are the addresses of metaschemas, without the fragment.
var dialects = map[version]string{
	draft4:    "http://json-schema.org/draft-04/schema",
	draft6:    "http://json-schema.org/draft-06/schema",
	draft7:    "http://json-schema.org/draft-07/schema",
	draft2019: "https://json-schema.org/draft/2019-09/schema",
	draft2020: "https://json-schema.org/draft/2020-12/schema",
}

func (v version) String() string {
	switch v {
	case draft2020:
		return "2020-12"
	case draft2019:
		return "2019-09"
	default:
		return "draft " + strconv.Itoa(int(v))
	}
}

// idKeyword is the member that gives a schema its address.
func (v version) idKeyword() string {
	if v == draft4 {
		return "id"
	}
	return "$id"
}

// dialectOf reads $schema. A schema without it has the dialect of the schema around it.
func dialectOf(v *value, around version) (version, error) {
	named := v.member("$schema")
	if named == nil {
		return around, nil
	}
	address := strings.TrimSuffix(string(named.text), "#")
	for found, metaschema := range dialects {
		if metaschema == address {
			return found, nil
		}
	}
	return 0, fmt.Errorf("$schema %q is not a known dialect: want 2020-12, 2019-09, or draft 7, 6 or 4", address)
}

// metaschemas has the metaschemas of json-schema.org, under the paths of their addresses.
//
//go:embed metaschemas/draft*
var metaschemas embed.FS

// metaschemaText is the document at an address of json-schema.org.
func metaschemaText(address string) ([]byte, bool) {
	for _, host := range []string{"https://json-schema.org/", "http://json-schema.org/"} {
		if path, ok := strings.CutPrefix(address, host); ok {
			text, err := metaschemas.ReadFile("metaschemas/" + path)
			return text, err == nil
		}
	}
	return nil, false
}

// compiledMetas holds the metaschemas that were needed so far, by version.
var compiledMetas sync.Map

// metaschema is what schemas of a dialect must satisfy.
func metaschema(v version) *Schema {
	if s, ok := compiledMetas.Load(v); ok {
		return s.(*Schema)
	}
	text, _ := metaschemaText(dialects[v])
	s, err := compile(document(text), dialects[v], v)
	if err != nil {
		panic("rawschema: " + dialects[v] + ": " + err.Error()) // a test compiles all
	}
	compiledMetas.Store(v, s)
	return s
}

// conforms says in what a document is not a valid schema of the dialect.
func conforms(doc *value, v version) error {
	r := &run{most: 1}
	if metaschema(v).check(r, doc, nil) {
		return nil
	}
	fault := r.faults[0]
	const shown = 80
	got := string(jsontext.Compact(nil, fault.Value))
	if len(got) > shown {
		got = strings.ToValidUTF8(got[:shown], "") + "..."
	}
	return fmt.Errorf("%s: %s is not what JSON Schema %s has there", cmp.Or(fault.Path, "the root"), got, v)
}
