package rawschema_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	judge "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kagami-mcp/kagami/framework/internal/rawschema"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// group is a group of cases of JSON-Schema-Test-Suite.
type group struct {
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Tests       []struct {
		Description string          `json:"description"`
		Data        json.RawMessage `json:"data"`
		Valid       bool            `json:"valid"`
	} `json:"tests"`
}

func groups(t testing.TB, pattern string) map[string][]group {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v", pattern, err)
	}
	out := map[string][]group{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var read []group
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out[file] = read
	}
	return out
}

// in adds $schema to a schema. The suite specifies the dialect by the name of a folder.
func in(schema []byte, dialect string) []byte {
	if jsontext.KindOf(schema) != jsontext.KindObject {
		return schema
	}
	if _, ok := jsontext.Member(schema, "$schema"); ok {
		return schema
	}
	head := `{"$schema":"` + dialect + `"`
	if jsontext.Len(schema) > 0 {
		head += ","
	}
	return append([]byte(head), bytes.TrimSpace(schema)[1:]...)
}

// elsewhere says whether a group of the suite needs documents that it serves by
// HTTP. Those have to be refused.
func elsewhere(schema []byte) bool { return bytes.Contains(schema, []byte("localhost:1234")) }

// The suite of json-schema.org: every verdict, by Check and by Accepts.
func TestSuite(t *testing.T) {
	t.Parallel()
	for folder, dialect := range map[string]string{
		"draft2020-12": "https://json-schema.org/draft/2020-12/schema",
		"draft7":       "http://json-schema.org/draft-07/schema#",
	} {
		cases, refused := 0, 0
		for file, groups := range groups(t, "testdata/suite/"+folder+"/*.json") {
			for _, g := range groups {
				name := file + ": " + g.Description
				s, err := rawschema.Compile(in(g.Schema, dialect))
				if err != nil && elsewhere(g.Schema) && strings.Contains(err.Error(), "only references within") {
					refused++
					continue
				}
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				for _, c := range g.Tests {
					cases++
					agree(t, name+": "+c.Description, s, c.Data, c.Valid)
				}
			}
		}
		t.Logf("%s: %d cases, %d groups refused as they refer to other documents", folder, cases, refused)
		if cases < 850 {
			t.Errorf("%s: only %d cases", folder, cases)
		}
	}
}

func agree(t *testing.T, name string, s *rawschema.Schema, data []byte, valid bool) {
	t.Helper()
	faults, total := s.Check(data, 3)
	if (total == 0) != valid || (len(faults) == 0) != valid || total < len(faults) || len(faults) > 3 {
		t.Errorf("%s: %d faults of %s: %+v", name, total, data, faults)
	}
	if s.Accepts(data) != valid {
		t.Errorf("%s: %s is accepted: %v", name, data, !valid)
	}
}

// The dialects without a folder here have another implementation for a judge.
func TestDialectsAgreeWithAnotherJudge(t *testing.T) {
	t.Parallel()
	dialects := []string{
		"http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-06/schema#", "http://json-schema.org/draft-07/schema#",
		"https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema",
	}
	for _, dialect := range dialects {
		cases := 0
		for file, groups := range groups(t, "testdata/suite/*/*.json") {
			for _, g := range groups {
				var members map[string]json.RawMessage
				if json.Unmarshal(g.Schema, &members) == nil {
					delete(members, "$schema")
					g.Schema, _ = json.Marshal(members)
				}
				for _, c := range g.Tests {
					cases++
					compareJudges(t, file, in(g.Schema, dialect), c.Data)
				}
			}
		}
		if cases < 2000 {
			t.Errorf("%s: only %d cases", dialect, cases)
		}
	}
}

// compareJudges has both judge a value, if both take the schema.
func compareJudges(t interface{ Errorf(string, ...any) }, name string, schema, data []byte) {
	theirs, theirErr := otherJudge(schema)
	ours, err := rawschema.Compile(schema)
	if (err == nil) != (theirErr == nil) {
		t.Errorf("%s: schema %s: here %v, there %v", name, schema, err, theirErr)
		return
	}
	if err != nil {
		return
	}
	doc, err := judge.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return
	}
	verdict := theirs.Validate(doc)
	faults, _ := ours.Check(data, 3)
	if accepted := ours.Accepts(data); accepted != (len(faults) == 0) || accepted != (verdict == nil) {
		t.Errorf("%s: schema %s of %s: here %v %+v, there %v", name, schema, data, accepted, faults, verdict)
	}
}

func otherJudge(schema []byte) (*judge.Schema, error) {
	doc, err := judge.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	c := judge.NewCompiler()
	c.UseLoader(judge.SchemeURLLoader{})
	if err := c.AddResource("https://kagami.invalid/schema", doc); err != nil {
		return nil, err
	}
	return c.Compile("https://kagami.invalid/schema")
}
