package dialect_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
)

func TestAllAndOf(t *testing.T) {
	t.Parallel()
	var got []protocol.Revision
	for _, d := range dialect.All() {
		got = append(got, d.Revision())
		if dialect.Of(d.Revision()) != d {
			t.Errorf("Of(%s) is another dialect", d)
		}
		if d.String() != d.Revision().String() {
			t.Errorf("dialect of %s calls itself %s", d.Revision(), d)
		}
	}
	if !slices.Equal(got, protocol.Revisions()) {
		t.Errorf("All() = %v, want one for each of %v", got, protocol.Revisions())
	}
	if d := dialect.Of(protocol.Revision{}); d != nil {
		t.Errorf("Of(zero) = %s, want nil", d)
	}
}

func TestHandshakeNegotiates(t *testing.T) {
	t.Parallel()
	for requested, want := range map[string]string{
		"2024-11-05": "2024-11-05",
		"2025-03-26": "2025-03-26",
		"2025-06-18": "2025-06-18",
		"2025-11-25": "2025-11-25",
		"2026-07-28": "2025-11-25",
		"1.0":        "2025-11-25",
		"":           "2025-11-25",
	} {
		if got := dialect.Handshake(requested).String(); got != want {
			t.Errorf("Handshake(%q) = %s, want %s", requested, got, want)
		}
	}
}

func TestPerRequestKnowsOnlyWhatHasNoHandshake(t *testing.T) {
	t.Parallel()
	for _, d := range dialect.All() {
		got, ok := dialect.PerRequest(d.String())
		if ok != (d.Revision() == revE) || ok && got != d {
			t.Errorf("PerRequest(%s) = %v, %v", d, got, ok)
		}
	}
	if _, ok := dialect.PerRequest("v999"); ok {
		t.Error("PerRequest(v999) found something")
	}
	if got := dialect.PerRequestVersions(); !slices.Equal(got, []string{"2026-07-28"}) {
		t.Errorf("PerRequestVersions() = %v", got)
	}
}

// TestTraits compares the traits with a table of the specification's pages, the oldest revision
// first.
func TestTraits(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		trait func(*dialect.Dialect) bool
		want  string
	}{
		"Handshake":                {(*dialect.Dialect).Handshake, "11110"},
		"ServerRequests":           {(*dialect.Dialect).ServerRequests, "11110"},
		"Batches":                  {(*dialect.Dialect).Batches, "01000"},
		"ResultType":               {(*dialect.Dialect).ResultType, "00001"},
		"ArgumentErrorsAreResults": {(*dialect.Dialect).ArgumentErrorsAreResults, "00011"},
		"NullErrorID":              {(*dialect.Dialect).NullErrorID, "11100"},
		"ListenStream":             {(*dialect.Dialect).ListenStream, "00001"},
		"LogLevelPerRequest":       {(*dialect.Dialect).LogLevelPerRequest, "00001"},
		"StructuredContent":        {(*dialect.Dialect).StructuredContent, "00111"},
		"Elicits":                  {(*dialect.Dialect).Elicits, "00111"},
		"ElicitsURL":               {(*dialect.Dialect).ElicitsURL, "00011"},
		"ElicitationIDs":           {(*dialect.Dialect).ElicitationIDs, "00010"},
		"SamplesWithTools":         {(*dialect.Dialect).SamplesWithTools, "00011"},
		"InputRounds":              {(*dialect.Dialect).InputRounds, "00001"},
		"CoreTasks":                {(*dialect.Dialect).CoreTasks, "00010"},
		"TaskExtension":            {(*dialect.Dialect).TaskExtension, "00001"},
		"VersionHeader":            {(*dialect.Dialect).VersionHeader, "00111"},
		"MirrorHeaders":            {(*dialect.Dialect).MirrorHeaders, "00001"},
		"Resumable":                {(*dialect.Dialect).Resumable, "01110"},
		"PollStreams":              {(*dialect.Dialect).PollStreams, "00010"},
		"StatusByCode":             {(*dialect.Dialect).StatusByCode, "00001"},
		"CancelByClose":            {(*dialect.Dialect).CancelByClose, "00001"},
	} {
		if got := perRevision(row.trait); got != row.want {
			t.Errorf("%s = %s, want %s", name, got, row.want)
		}
	}
}

// perRevision is one digit per revision, oldest first.
func perRevision(is func(*dialect.Dialect) bool) string {
	var b strings.Builder
	for _, d := range dialect.All() {
		if is(d) {
			b.WriteByte('1')
		} else {
			b.WriteByte('0')
		}
	}
	return b.String()
}

// The table of methods says the same as the official schemas, and nothing more.
func TestMethodsOfTheSchemas(t *testing.T) {
	t.Parallel()
	for _, d := range dialect.All() {
		for union, has := range map[string]func(string) bool{
			"ClientRequest": d.ClientMethod, "ServerRequest": d.ServerMethod,
			"ClientNotification": d.ClientNotification, "ServerNotification": d.ServerNotification,
		} {
			if !d.ServerRequests() && union == "ServerRequest" {
				union = "InputRequest"
			}
			var got []string
			for _, name := range dialect.Methods() {
				if has(name) && d.InSchema(name) {
					got = append(got, name)
				}
			}
			slices.Sort(got)
			if want := schemaMethods(t, d, union); len(want) == 0 || !slices.Equal(got, want) {
				t.Errorf("%s: %s is\n%v, want\n%v", d, union, got, want)
			}
		}
		if d.ClientMethod("tools/unknown") || dialect.Known("tools/unknown") {
			t.Errorf("%s has a method that is not specified", d)
		}
	}
}

// schemaMethods returns the methods in a union of the official schema, sorted.
func schemaMethods(t *testing.T, d *dialect.Dialect, union string) (names []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(schemaDir, d.String()+".json"))
	if err != nil {
		t.Fatal(err)
	}
	type definition struct {
		Ref   string `json:"$ref"`
		AnyOf []struct {
			Ref string `json:"$ref"`
		}
		Properties struct{ Method struct{ Const string } }
	}
	var schema struct {
		Definitions map[string]definition
		Defs        map[string]definition `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	all := schema.Definitions
	if all == nil {
		all = schema.Defs
	}
	refs := []string{"/" + union}
	if u := all[union]; u.AnyOf != nil {
		refs = nil
		for _, r := range u.AnyOf {
			refs = append(refs, r.Ref)
		}
	} else if u.Ref != "" {
		refs = []string{u.Ref}
	}
	for _, ref := range refs {
		names = append(names, all[ref[strings.LastIndexByte(ref, '/')+1:]].Properties.Method.Const)
	}
	slices.Sort(names)
	return names
}
