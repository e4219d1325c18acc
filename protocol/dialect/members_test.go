package dialect_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/protocol/dialect"
)

// deviations are the members whose revisions differ on purpose from the schemas, with the reason. An
// asterisk stands for all objects.
var deviations = map[string]string{
	"*.resultType":                  "written before the members of the result",
	"TextResourceContents.blob":     "one table for both definitions",
	"BlobResourceContents.text":     "one table for both definitions",
	"ClientCapabilities.extensions": "extensions are also declared in initialize",
	"ServerCapabilities.extensions": "extensions are also declared in initialize",
	"SubscriptionFilter.taskIds":    "from the tasks extension",
}

// accepted are the members that the schemas require and that decoding does not, with the reason.
var accepted = map[string]string{
	"*.ttlMs":                   "an absent ttlMs means 0",
	"*.cacheScope":              "an absent cacheScope means public",
	"TextResourceContents.text": "one table for both definitions",
	"BlobResourceContents.blob": "one table for both definitions",
}

// listed reports whether the member of the object at place has an entry in list.
func listed(list map[string]string, place, name string) bool {
	return list[place+"."+name] != "" || list["*."+name] != ""
}

// Each row has its member in exactly the revisions whose schemas have it, and requires it in exactly
// the revisions whose schemas require it. Each member of a schema has a row.
func TestMembersOfTheSchemas(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, d := range dialect.All() {
		schema := readSchema(t, d)
		for _, table := range dialect.Tables() {
			place, object := schema.object(table.Places)
			if object == nil {
				continue
			}
			found[table.Places[0]] = true
			checkRows(t, d, place, table.Members, object)
		}
	}
	for _, table := range dialect.Tables() {
		if !found[table.Places[0]] {
			t.Errorf("no schema has %v", table.Places)
		}
	}
}

func checkRows(t *testing.T, d *dialect.Dialect, place string, rows []dialect.Member, object *objectSchema) {
	t.Helper()
	for _, row := range rows {
		if listed(deviations, place, row.Name) {
			continue
		}
		key := place + "." + row.Name
		_, want := object.Properties[row.Name]
		if got := row.In(d); got != want {
			t.Errorf("%s: the row of %s has the member: %t, want %t as in the schema", d, key, got, want)
		} else if want := slices.Contains(object.Required, row.Name); row.Required(d) != want && !listed(accepted, place, row.Name) {
			t.Errorf("%s: the row of %s requires the member: %t, want %t as in the schema", d, key, row.Required(d), want)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object.Properties)) {
		has := func(row dialect.Member) bool { return row.Name == name }
		params := strings.HasSuffix(strings.ToLower(place), "params") // their _meta is not written with a table
		if !slices.ContainsFunc(rows, has) && !listed(deviations, place, name) && (name != "_meta" || !params) {
			t.Errorf("%s: %s.%s has no row", d, place, name)
		}
	}
}

// objectSchema is the part of a JSON Schema that describes an object.
type objectSchema struct {
	Ref        string `json:"$ref"`
	AllOf      []*objectSchema
	Properties map[string]*objectSchema
	Required   []string
}

type wholeSchema struct {
	Definitions map[string]*objectSchema
	Defs        map[string]*objectSchema `json:"$defs"`
}

// readSchema reads the official schema of a revision.
func readSchema(t *testing.T, d *dialect.Dialect) *wholeSchema {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(schemaDir, d.String()+".json"))
	if err != nil {
		t.Fatal(err)
	}
	s := new(wholeSchema)
	if err := json.Unmarshal(text, s); err != nil {
		t.Fatal(err)
	}
	if s.Definitions == nil {
		s.Definitions = s.Defs
	}
	return s
}

// object returns the first of places that the schema has, and the object there.
func (s *wholeSchema) object(places []string) (string, *objectSchema) {
	for _, place := range places {
		path := strings.Split(place, ".")
		object := s.whole(s.Definitions[path[0]])
		for _, name := range path[1:] {
			if object == nil {
				break
			}
			object = s.whole(object.Properties[name])
		}
		if object != nil {
			return place, object
		}
	}
	return "", nil
}

// whole returns d with the members of the definitions that it refers to.
func (s *wholeSchema) whole(d *objectSchema) *objectSchema {
	if d == nil {
		return nil
	}
	all := &objectSchema{Properties: maps.Clone(d.Properties), Required: slices.Clone(d.Required)}
	if all.Properties == nil {
		all.Properties = map[string]*objectSchema{}
	}
	parts := d.AllOf
	if d.Ref != "" {
		parts = append([]*objectSchema{s.Definitions[d.Ref[strings.LastIndexByte(d.Ref, '/')+1:]]}, parts...)
	}
	for _, part := range parts {
		part = s.whole(part)
		maps.Copy(all.Properties, part.Properties)
		all.Required = append(all.Required, part.Required...)
	}
	return all
}
