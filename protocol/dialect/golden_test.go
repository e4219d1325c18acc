package dialect_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// has says that the revision has the method, in whichever direction.
func has(d *dialect.Dialect, method string) bool {
	return d.ClientMethod(method) || d.ServerMethod(method) ||
		d.ClientNotification(method) || d.ServerNotification(method)
}

func isRequest(d *dialect.Dialect, method string) bool {
	return d.ClientMethod(method) || d.ServerMethod(method)
}

func (c *wireCase) in(d *dialect.Dialect) bool {
	return has(d, c.method) && (c.only == nil || slices.Contains(c.only, d.Revision()))
}

func (c *wireCase) file(d *dialect.Dialect) string {
	name := strings.ReplaceAll(c.method, "/", ".")
	if c.variant != "" {
		name += "." + c.variant
	}
	part := ".result.json"
	if c.params != nil {
		part = ".params.json"
	}
	return filepath.Join("testdata", d.String(), name+part)
}

// encode is the wire form of the case's model.
func (c *wireCase) encode(d *dialect.Dialect) ([]byte, error) {
	if c.params != nil {
		p, m := c.params(d)
		return d.AppendParams(nil, p, m)
	}
	return d.AppendResult(nil, c.result(d), d.AppendImplementation(nil, exampleServer))
}

// again decodes a wire form and encodes what it found.
func (c *wireCase) again(d *dialect.Dialect, wire []byte) ([]byte, error) {
	if c.params == nil {
		r, fault := d.DecodeResult(c.method, wire)
		if fault != nil {
			return nil, fault
		}
		var server []byte
		if _, ok := r.(*protocol.ListenResult); ok {
			server = d.AppendImplementation(nil, exampleServer)
		}
		return d.AppendResult(nil, r, server)
	}
	p, fault := d.DecodeParams(c.method, wire)
	if fault != nil {
		return nil, fault
	}
	decode := d.DecodeMeta
	if !d.ClientMethod(c.method) {
		decode = d.DecodeNotificationMeta
	}
	m, fault := decode(wire)
	if fault != nil {
		return nil, fault
	}
	return d.AppendParams(nil, p, m)
}

// eachGolden runs over all golden files with their cases.
func eachGolden(t *testing.T, test func(t *testing.T, d *dialect.Dialect, c *wireCase, golden []byte)) {
	t.Helper()
	for _, d := range dialect.All() {
		for _, c := range wireCases() {
			if !c.in(d) {
				continue
			}
			t.Run(c.file(d), func(t *testing.T) {
				t.Parallel()
				golden, err := os.ReadFile(c.file(d))
				if err != nil {
					t.Fatalf("reading golden: %v", err)
				}
				test(t, d, &c, golden)
			})
		}
	}
}

// value is JSON as a comparable Go value.
func value(t *testing.T, text []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("decoding %s: %v", text, err)
	}
	return v
}

func sameJSON(t *testing.T, got, want []byte) {
	t.Helper()
	if err := jsontext.Check(got, jsontext.DefaultLimits()); err != nil {
		t.Fatalf("not strict JSON: %v\n%s", err, got)
	}
	if err := jsontext.Unique(got); err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	if bytes.ContainsAny(got, "\n\r") {
		t.Errorf("line break in %s", got)
	}
	if !reflect.DeepEqual(value(t, got), value(t, want)) {
		var w bytes.Buffer
		if err := json.Compact(&w, want); err != nil {
			t.Fatal(err)
		}
		t.Errorf("wire form differs\n got %s\nwant %s", got, w.Bytes())
	}
}

func TestModelEncodesToGolden(t *testing.T) {
	t.Parallel()
	eachGolden(t, func(t *testing.T, d *dialect.Dialect, c *wireCase, golden []byte) {
		got, err := c.encode(d)
		if err != nil {
			t.Fatalf("encoding: %v", err)
		}
		sameJSON(t, got, golden)
	})
}

func TestGoldenDecodesAndEncodesToItself(t *testing.T) {
	t.Parallel()
	eachGolden(t, func(t *testing.T, d *dialect.Dialect, c *wireCase, golden []byte) {
		got, err := c.again(d, golden)
		if err != nil {
			t.Fatalf("round trip: %v", err)
		}
		sameJSON(t, got, golden)
	})
}

// A method without golden, or a golden without case, is a hole in the tests.
func TestGoldensAreComplete(t *testing.T) {
	t.Parallel()
	want := map[string]bool{}
	type part struct {
		d      *dialect.Dialect
		method string
		result bool
	}
	covered := map[part]bool{}
	for _, d := range dialect.All() {
		for _, c := range wireCases() {
			if c.in(d) {
				want[c.file(d)] = true
				covered[part{d, c.method, c.params == nil}] = true
			}
		}
		for _, m := range dialect.Methods() {
			asked := isRequest(d, m)
			inside := d.ServerMethod(m) && !d.ServerRequests() // its params stand inside input_required
			if has(d, m) && !inside && !covered[part{d, m, false}] {
				t.Errorf("%s: no golden for the params of %s", d, m)
			}
			if asked && !covered[part{d, m, true}] {
				t.Errorf("%s: no golden for the result of %s", d, m)
			}
		}
	}
	err := filepath.WalkDir("testdata", func(path string, e fs.DirEntry, err error) error {
		if path == schemaDir {
			return fs.SkipDir
		}
		if err == nil && !e.IsDir() && filepath.Ext(path) == ".json" && !want[path] {
			t.Errorf("%s belongs to no case", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// allMethods lists the methods and notifications of all revisions.
