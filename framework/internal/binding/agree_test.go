package binding_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

// laxSchemas are kinds with schemas that accept more than the plan: text forms that only a method of the type
// defines, and integers as keys, because their exact pattern would fill a page.
var laxSchemas = map[string]bool{
	"prefix": true, "int map": true, "bigfloat": true, "own text map": true, "text on pointer": true, "opaque": true, "written as text": true,
}

// scalarPool has a value for every kind, and a similar wrong value for each.
func scalarPool() []string {
	return []string{
		"null", "true", "false", "0", "-0", "1", "2", "3", "4", "-1", "1.0", "1e2", "10e-1", "1.5", "-0.1", "127", "128", "-128", "-129",
		"255", "256", "32767", "32768", "65535", "65536", "2147483647", "2147483648", "-2147483648", "-2147483649", "4294967295", "4294967296",
		"9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
		"18446744073709551615", "18446744073709551616", "123456789012345678901234567890", "1e39", "-1e39", "1e300", "3.4028235e38", "-3.4028235e38", "3.4028236e38",
		`""`, `"a"`, `"1"`, `"1.5"`, `"true"`, `"null"`, `"é"`, `"😀"`, `"a b"`, `"[1]"`, `"{}"`, `"AA=="`, `"aGk="`, `"aGk"`, `"a-_="`, `"AAAA\n"`,
		`"2026-01-31T15:04:05Z"`, `"2026-01-31T15:04:05.5+02:00"`, `"2026-01-31"`, `"2026-02-30T00:00:00Z"`, `"2026-01-31 15:04:05Z"`, `"15:04"`,
		`"2026-01-31T24:00:00Z"`, `"2026-01-31T15:04:05,5Z"`, `"2026-01-31T5:04:05Z"`, `"2026-01-31T15:04:05+24:00"`,
		`"90s"`, `"1h30m"`, `"0"`, `"-5ms"`, `"90 s"`, `"90"`, `"1d"`, `".5s"`, `"+1m"`, `"5µs"`,
		`"192.0.2.1"`, `"192.0.2.256"`, `"192.0.02.1"`, `"2001:db8::1"`, `"::ffff:192.0.2.1"`, `"fe80::1%eth0"`, `"2001:db8::1::"`, `"10.0.0.0/8"`,
		`"red"`, `"Red"`, `"blue"`, `"small"`, `"large"`, `"[1,2]"`, `"https://example.com"`,
	}
}

// valuePool contains the scalars, and lists and objects of them.
func valuePool() []string {
	pool := []string{"[]", "{}", "[[]]", "[{}]", "[[1],[2]]", `{"a":{}}`, `{"a":{"b":{}}}`, `{"a":[1]}`, `{"id":1}`, `{"id":1,"note":"x"}`, `{"id":"1"}`}
	for _, s := range scalarPool() {
		pool = append(pool, s, "["+s+"]", "["+s+","+s+","+s+"]", "["+s+","+s+","+s+","+s+"]", "["+s+",null]", `{"a":`+s+`}`, `{"v":`+s+`}`)
	}
	for _, key := range []string{"0", "-0", "7", "-7", "07", "+7", "255", "256", "1.5", "1e1", "", "x", "192.0.2.1", "fe80::1%eth0", "2026-01-31T15:04:05Z", "2026-01-31T15:04:05,5Z", "[1,2]", "red", "9223372036854775807", "9223372036854775808", "-9223372036854775808"} {
		pool = append(pool, fmt.Sprintf(`{%q:1}`, key), fmt.Sprintf(`{%q:"x"}`, key))
	}
	return pool
}

// TestEveryKindAgreesOnEveryValue checks, for every kind of type, that what the schema accepts decodes, that
// the schema accepts what decodes, and that the output schema accepts what is written from it.
func TestEveryKindAgreesOnEveryValue(t *testing.T) {
	t.Parallel()
	pool := valuePool()
	kinds := 0
	for _, kind := range typeCases() {
		if kind.mode != "i" || !onlyV(kind.t) {
			continue
		}
		kinds++
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			agreeOnPool(t, kind, pool)
		})
	}
	if kinds < 40 {
		t.Errorf("only %d kinds", kinds)
	}
	t.Logf("%d kinds, %d values each", kinds, len(pool))
}

// onlyV reports whether t is the wrapper of a value of some kind.
func onlyV(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.NumField() == 1 && t.Field(0).Tag.Get("json") == "v"
}

func agreeOnPool(t *testing.T, kind typeCase, pool []string) {
	t.Helper()
	in := mustCompile(t, kind.t, binding.Input, binding.Options{NoRepair: true})
	out := mustCompile(t, kind.t, binding.Output, binding.Options{})
	inJudge, outJudge := judgeOf(t, in.Schema()), judgeOf(t, out.Schema())
	accepted := 0
	for _, value := range pool {
		raw := []byte(`{"v":` + value + `}`)
		v := reflect.New(kind.t).Elem()
		_, err := in.Decode(t.Context(), raw, v)
		if legal := accepts(t, inJudge, raw); !agreeOn(raw, legal, err) && (err == nil || !laxSchemas[kind.name]) {
			t.Errorf("%s\nschema says %v, plan says %v\nschema %s", raw, legal, err, in.Schema())
		}
		if err != nil {
			continue
		}
		accepted++
		written, err := out.Append(nil, v)
		if err != nil || !json.Valid(written) || !accepts(t, outJudge, written) {
			t.Errorf("%s is written as %s (%v), which is not valid by %s", raw, written, err, out.Schema())
		}
	}
	if accepted == 0 || accepted == len(pool) && !slices.Contains([]string{"raw", "any", "opaque"}, kind.name) {
		t.Errorf("%d of %d values accepted: this proves nothing", accepted, len(pool))
	}
}
