package binding_test

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

type kCode string

func checks() []binding.Check {
	return []binding.Check{
		{
			Tag: "nl_postcode", Type: reflect.TypeFor[string](), Want: "a Dutch postcode such as 1234 AB",
			Holds:  func(v reflect.Value) bool { s := v.String(); return len(s) == 7 && s[0] != '0' && s[4] == ' ' },
			Schema: json.RawMessage(`{"pattern":"^[1-9].{3} .{2}$"}`),
		},
		{Tag: "even", Type: reflect.TypeFor[int](), Want: "an even number", Holds: func(v reflect.Value) bool { return v.Int()%2 == 0 }, Schema: json.RawMessage(`{"multipleOf":2}`)},
		{Tag: "private_addr", Type: reflect.TypeFor[netip.Addr](), Want: "a private address.", Holds: func(v reflect.Value) bool {
			return v.Interface().(netip.Addr).IsPrivate()
		}},
		{Tag: "panics", Type: reflect.TypeFor[int](), Want: "no panic", Holds: func(reflect.Value) bool { panic("no") }},
	}
}

type kIn struct {
	Code  string            `json:"code" validate:"nl_postcode"`
	Near  []string          `json:"near,omitempty" validate:"max=2,dive,nl_postcode"`
	ByKey map[string]int    `json:"by_key,omitempty" validate:"dive,keys,nl_postcode,endkeys,even"`
	Even  *int              `json:"even" validate:"min=3,even"`
	Addr  netip.Addr        `json:"addr,omitzero" validate:"omitzero,private_addr"`
	Addrs []netip.Addr      `json:"addrs,omitempty" validate:"dive,private_addr"`
	Other map[string]string `json:"other,omitempty" validate:"dive,nl_postcode|len=2"`
}

func TestChecks(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, reflect.TypeFor[kIn](), binding.Input, binding.Options{Checks: checks()})
	judge := judgeOf(t, p.Schema())
	for _, part := range []string{
		`"code":{"type":"string","description":"Must be a Dutch postcode such as 1234 AB.","pattern":"^[1-9].{3} .{2}$"}`,
		`"multipleOf":2`, `"propertyNames":{"description":"Must be a Dutch postcode such as 1234 AB.","pattern":`,
		`"description":"An IP address. Must be a private address."`,
	} {
		if !strings.Contains(string(p.Schema()), part) {
			t.Errorf("schema lacks %s\n%s", part, p.Schema())
		}
	}
	cases := []struct {
		raw, want string // "": no fault
		unseen    bool   // the schema cannot see it
	}{
		{`{"code":"1234 AB"}`, "", false},
		{`{"code":"0234 AB"}`, `/code: got "0234 AB" (text). Want a Dutch postcode such as 1234 AB.`, false},
		{`{"code":12}`, `/code: got 12 (number). Want a Dutch postcode such as 1234 AB.`, false},
		{`{"code":"1234 AB","near":["1234 AB","x"]}`, `/near/1: got "x" (text). Want a Dutch postcode such as 1234 AB.`, false},
		{`{"code":"1234 AB","by_key":{"1234 AB":2}}`, "", false},
		{`{"code":"1234 AB","by_key":{"1234 AB":3}}`, `/by_key/1234 AB: got 3 (number). Want an even number.`, false},
		{`{"code":"1234 AB","by_key":{"x":2}}`, `Want keys that are text that matches`, false},
		{`{"code":"1234 AB","even":null}`, "", true},
		{`{"code":"1234 AB","even":5}`, `/even: got 5 (number). Want a whole number of at least 3 and that is a multiple of 2. Must be an even number.`, false},
		{`{"code":"1234 AB","addr":"10.0.0.1","addrs":["10.0.0.1"]}`, "", false},
		{`{"code":"1234 AB","addr":"1.1.1.1"}`, `/addr: got "1.1.1.1" (text). Want a private address.`, true},
		{`{"code":"1234 AB","addrs":["1.1.1.1"]}`, `/addrs/0: got "1.1.1.1" (text). Want a private address.`, true},
		{`{"code":"1234 AB","other":{"a":"ab","b":"1234 AB"}}`, "", false},
		{`{"code":"1234 AB","other":{"a":"abc"}}`, `/other/a: got "abc"`, true},
	}
	for _, tc := range cases {
		_, err := p.Decode(t.Context(), []byte(tc.raw), reflect.New(p.Type()).Elem())
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v\nwant %s", tc.raw, err, tc.want)
		}
		if !tc.unseen && accepts(t, judge, []byte(tc.raw)) != (tc.want == "") {
			t.Errorf("%s: the schema disagrees\n%s", tc.raw, p.Schema())
		}
	}
}

func TestCheckThatPanics(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, structWith(reflect.TypeFor[int](), `validate:"panics"`), binding.Input, binding.Options{Checks: checks()})
	_, err := p.Decode(t.Context(), []byte(`{"v":1}`), reflect.New(p.Type()).Elem())
	if err == nil || !strings.Contains(err.Error(), "Want no panic.") {
		t.Errorf("error %v", err)
	}
}

func TestCheckFaults(t *testing.T) {
	t.Parallel()
	fine := checks()[0]
	with := func(change func(*binding.Check)) binding.Check {
		k := fine
		change(&k)
		return k
	}
	cases := []struct {
		name string
		k    binding.Check
		want string
	}{
		{"fine", fine, ""},
		{"built in", with(func(k *binding.Check) { k.Tag = "email" }), `the tag "email" exists already`},
		{"syntax", with(func(k *binding.Check) { k.Tag = "dive" }), `the tag "dive" exists already`},
		{"end of keys", with(func(k *binding.Check) { k.Tag = "endkeys" }), `the tag "endkeys" exists already`},
		{"required", with(func(k *binding.Check) { k.Tag = "required_if" }), `exists already`},
		{"alias", with(func(k *binding.Check) { k.Tag = "iscolor" }), `exists already`},
		{"parameter", with(func(k *binding.Check) { k.Tag = "min" }), `exists already`},
		{"omit", with(func(k *binding.Check) { k.Tag = "omitzero" }), `exists already`},
		{"name", with(func(k *binding.Check) { k.Tag = "a=b" }), "is not a name of a tag"},
		{"nil", with(func(k *binding.Check) { k.Holds = nil }), "is nil"},
		{"pointer", with(func(k *binding.Check) { k.Type = reflect.TypeFor[*string]() }), "the type *string; use the type of the values"},
		{"no words", with(func(k *binding.Check) { k.Want = " " }), "does not say what it wants"},
		{"no JSON", with(func(k *binding.Check) { k.Schema = []byte(`{`) }), "the schema of"},
		{"no object", with(func(k *binding.Check) { k.Schema = []byte(`true`) }), "is not a JSON object"},
		{"wrong keyword", with(func(k *binding.Check) { k.Schema = []byte(`{"minLength":"x"}`) }), "the schema of"},
		{"type", with(func(k *binding.Check) { k.Schema = []byte(`{"type":"string"}`) }), "has type, which comes from"},
		{"pattern", with(func(k *binding.Check) { k.Schema = []byte(`{"pattern":"(?i)a"}`) }), "no group that begins with (?i"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := tc.k.Problem()
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("problem %q, want %q", got, tc.want)
			}
		})
	}
	for tag, want := range map[string]string{
		`validate:"nl_postcode"`:   `V: validate rule "nl_postcode" is for type string, not binding_test.kCode`,
		`validate:"nl_postcode=3"`: `validate rule "nl_postcode=3" has a parameter`,
		`validate:"nl_postcod"`:    `does not exist. Did you mean nl_postcode?`,
	} {
		typ := structWith(reflect.TypeFor[kCode](), tag)
		p, faults := binding.Compile(typ, binding.Input, binding.Options{Checks: checks()})
		faults = slices.DeleteFunc(faults, func(f binding.Fault) bool { return f.Enum != nil })
		if p != nil || len(faults) != 1 || !strings.Contains(faults[0].String(), want) {
			t.Errorf("%s: faults %v, want %s", tag, faults, want)
		}
	}
	bad := []binding.Check{with(func(k *binding.Check) { k.Schema = []byte(`[]`) })}
	if p, faults := binding.Compile(structWith(reflect.TypeFor[string](), `validate:"nl_postcode"`), binding.Input, binding.Options{Checks: bad}); p != nil || len(faults) != 1 {
		t.Errorf("faults %v", faults)
	}
}
