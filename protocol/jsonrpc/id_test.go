package jsonrpc_test

import (
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
)

func TestParseID(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]bool{
		`1`: true, `-1`: true, `0`: true, `-0`: true, `9007199254740993`: true, `"a"`: true, `""`: true, `"\n"`: true,
		`"` + strings.Repeat("x", 1022) + `"`: true, strings.Repeat("9", 1024): true,
		`"` + strings.Repeat("x", 1023) + `"`: false, strings.Repeat("9", 1025): false,
		`1.0`: false, `1e3`: false, `null`: false, `true`: false, `{}`: false, `[]`: false, ``: false, `01`: false,
		// Not checked by anybody: ids also come from stores and headers.
		`"a`: false, `"`: false, `"a"b"`: false, `"a" `: false, ` 1`: false, "1\n": false, `"\x"`: false, "\"\xff\"": false, `-`: false, `1"`: false,
	} {
		id, ok := jsonrpc.ParseID([]byte(raw))
		if ok != want {
			t.Errorf("ParseID(%.40q) is ok = %v", raw, ok)
		}
		if ok && (id.String() != raw || string(id.Append([]byte("x"))) != "x"+raw || id.IsZero()) {
			t.Errorf("ParseID(%.40q) became %.40q", raw, id.String())
		}
		if !ok && !id.IsZero() {
			t.Errorf("ParseID(%.40q) is not ok but has an id", raw)
		}
	}
}

func TestIDKey(t *testing.T) {
	t.Parallel()
	parse := func(raw string) jsonrpc.ID {
		id, ok := jsonrpc.ParseID([]byte(raw))
		if !ok {
			t.Fatalf("ParseID(%s) failed", raw)
		}
		return id
	}
	groups := [][]jsonrpc.ID{ // within one the keys are equal, between two they differ
		{{}},
		{parse(`1`), jsonrpc.IntID(1)},
		{parse(`"1"`), parse(`"\u0031"`), jsonrpc.StringID("1")},
		{parse(`0`), parse(`-0`), jsonrpc.IntID(0)},
		{parse(`-9223372036854775808`), jsonrpc.IntID(-1 << 63)},
		{parse(`"a"`), parse(`"\u0061"`), jsonrpc.StringID("a")},
		{parse(`"\""`), parse(`"\u0022"`), jsonrpc.StringID(`"`)},
		{parse(`"\\"`), parse(`"\u005C"`), jsonrpc.StringID(`\`)},
		{parse(`"\\u0061"`), jsonrpc.StringID(`\u0061`)},
		{parse(`"/"`), parse(`"\/"`)},
		{parse("\"\u2028\""), parse(`"\u2028"`), jsonrpc.StringID("\u2028")},
		{parse("\"\ufffd\""), parse(`"\ufffd"`), jsonrpc.StringID("\xff")},
		{parse(`"😀"`), parse(`"\ud83d\ude00"`), jsonrpc.StringID("😀")},
		{parse(`""`), jsonrpc.StringID("")},
	}
	owner := map[string]int{}
	for i, group := range groups {
		for _, id := range group {
			key := id.Key()
			if first, known := owner[key]; known && first != i {
				t.Errorf("the key of %s is also that of group %d", id, first)
			}
			owner[key] = i
			if key != group[0].Key() {
				t.Errorf("the keys of %s and %s differ", id, group[0])
			}
		}
	}
	if parse(`"a"`) != jsonrpc.StringID("a") || jsonrpc.IntID(1) == jsonrpc.StringID("1") {
		t.Error("== does not compare ids")
	}
}

// FuzzParseID: what is an id is echoed byte for byte and means the same to itself.
func FuzzParseID(f *testing.F) {
	for _, seed := range []string{`1`, `-0`, `1.0`, `1e3`, `"a"`, `"\u0061"`, `null`, `{}`, ``, `"`, `9007199254740993`, ` 1`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		id, ok := jsonrpc.ParseID(raw)
		if !ok {
			if !id.IsZero() {
				t.Fatalf("%q is refused, but leaves %q", raw, id)
			}
			return
		}
		if got := string(id.Append(nil)); got != string(raw) {
			t.Fatalf("%q is echoed as %q", raw, got)
		}
		again, ok := jsonrpc.ParseID(raw)
		if !ok || again != id || again.Key() != id.Key() {
			t.Fatalf("%q is not itself", raw)
		}
	})
}
