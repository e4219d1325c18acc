package binding_test

import (
	"context"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

// price is a decimal type as libraries have them.
type price struct {
	Value *big.Rat
}

func (p *price) UnmarshalText(text []byte) error {
	var ok bool
	if p.Value, ok = new(big.Rat).SetString(string(text)); !ok {
		return fmt.Errorf("not a price")
	}
	return nil
}

func (p *price) MarshalText() ([]byte, error) { return p.Value.MarshalText() }

// amount reads JSON by itself.
type amount struct{ big.Rat }

func (a *amount) UnmarshalJSON(raw []byte) error {
	if _, ok := a.SetString(strings.Trim(string(raw), `"`)); !ok {
		return fmt.Errorf("not an amount")
	}
	return nil
}

// quickly fails the test if work takes seconds. A value that is refused by its length takes microseconds, and
// took seconds when it was written out. Other work may make the machine slow, so work has three tries.
func quickly(t *testing.T, what string, work func()) {
	t.Helper()
	var took time.Duration
	for range 3 {
		began := time.Now()
		work()
		if took = time.Since(began); took < 3*time.Second {
			return
		}
	}
	t.Errorf("%s took %v", what, took)
}

// TestExponentsInTexts checks that the bound on numbers applies to numbers in texts.
func TestExponentsInTexts(t *testing.T) {
	t.Parallel()
	type in struct {
		R []*big.Rat            `json:"r,omitempty"`
		F []*big.Float          `json:"f,omitempty"`
		P []price               `json:"p,omitempty"`
		A []*amount             `json:"a,omitempty"`
		I []*big.Int            `json:"i,omitempty"`
		M map[string]*big.Rat   `json:"m,omitempty"`
		N map[string][]*big.Rat `json:"n,omitempty"`
	}
	for _, huge := range []string{"1e1000000", "1e-1000000", "-1E+1000000", "1/1e1000000", "0x1p1000000", ".1e1_000_000", " 1e1000000", strings.Repeat("9", 10_000), "1e00001000000"} {
		for _, member := range []string{"r", "f", "p", "a", "i"} {
			quickly(t, member+" of "+huge[:5], func() {
				list := strings.Repeat(`"`+huge+`",`, 99) + `"` + huge + `"`
				if _, _, err := decodeTo[in](t, `{"`+member+`":[`+list+`]}`); err == nil && len(huge) < 100 {
					t.Errorf("%s: %s is accepted", member, huge)
				}
			})
		}
		quickly(t, "a map of "+huge[:5], func() { _, _, _ = decodeTo[in](t, `{"m":{"x":"`+huge+`"},"n":{"x":["`+huge+`"]}}`) })
	}
	quickly(t, "a number", func() {
		if _, _, err := decodeTo[in](t, `{"a":[1e1000000,1e1000000,1e1000000]}`); err == nil {
			t.Error("1e1000000 is accepted")
		}
	})
	for _, usual := range []string{`"1.5"`, `"3/4"`, `"1e400"`, `"-2E-10"`} {
		if _, _, err := decodeTo[in](t, `{"r":[`+usual+`],"p":[`+usual+`],"a":[`+usual+`]}`); err != nil {
			t.Errorf("%s: %v", usual, err)
		}
	}
}

// TestExponentsInKeysAndVariables checks the bound for keys of maps, and for texts by member name.
func TestExponentsInKeysAndVariables(t *testing.T) {
	t.Parallel()
	type keyed struct {
		M map[price]int `json:"m"`
	}
	quickly(t, "keys", func() {
		if _, _, err := decodeTo[keyed](t, `{"m":{"1e1000000":1,"2e1000000":1,"3e1000000":1}}`); err == nil {
			t.Error("a key 1e1000000 is accepted")
		}
	})
	type variables struct {
		R *big.Rat `json:"r"`
		P price    `json:"p"`
	}
	plan := mustCompile(t, reflect.TypeFor[variables](), binding.Strings, binding.Options{})
	quickly(t, "variables", func() {
		var v variables
		err := plan.DecodeStrings(context.Background(), map[string]string{"r": "1e1000000", "p": "1e1000000"}, reflect.ValueOf(&v).Elem())
		if err == nil {
			t.Error("a variable 1e1000000 is accepted")
		}
	})
}

// TestLongTextsOfFormats checks that a text that is too long for its format is refused before validator's
// expressions read it.
func TestLongTextsOfFormats(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a.", 2_000_000)
	for _, rule := range []string{
		"hostname", "hostname_rfc1123", "fqdn", "hostname_port", "email", "semver", "uuid", "ip", "cidr", "mac", "latitude", "isbn", "e164", "numeric", "number",
		"hexcolor|rgb", "iso4217", "bic", "cve", "ulid", "md5", "sha512", "btc_addr", "eth_addr", "ipv6", "bcp47_language_tag",
	} {
		for _, shape := range []struct {
			kind reflect.Type
			tag  string
			raw  string
		}{
			{reflect.TypeFor[string](), rule, `"` + long + `"`},
			{reflect.TypeFor[[]string](), "dive," + rule, `["` + long + `"]`},
			{reflect.TypeFor[*string](), "omitempty," + rule, `"` + long + `"`},
		} {
			owner := reflect.StructOf([]reflect.StructField{{Name: "A", Type: shape.kind, Tag: reflect.StructTag(fmt.Sprintf(`json:"a" validate:%q`, shape.tag))}})
			plan := mustCompile(t, owner, binding.Input, binding.Options{})
			quickly(t, shape.tag, func() {
				if _, err := plan.Decode(context.Background(), []byte(`{"a":`+shape.raw+`}`), reflect.New(owner).Elem()); err == nil {
					t.Errorf("%s accepts 4 MB", shape.tag)
				} else if len(err.Error()) > 4096 {
					t.Errorf("%s answers with %d bytes", shape.tag, len(err.Error()))
				}
			})
		}
	}
}

// TestFormatsOnMegabytes checks that the time for a text of megabytes does not depend on the format, wherever
// the format stands. Validator's own expressions take 0.2 to 2 seconds for each of these, and a text without a
// rule takes 0.7 ms.
func TestFormatsOnMegabytes(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes it slow")
	}
	const size = 3_900_000
	text := func(unit, end string) string { return strings.Repeat(unit, size/len(unit)) + end }
	quote := func(s string) string { return `"` + s + `"` }
	for _, tt := range []struct {
		of   reflect.Type
		tag  string
		args string
	}{
		{reflect.TypeFor[string](), "html_encoded", quote(text("a", ""))},
		{reflect.TypeFor[string](), "base64", quote(text("QUJD", ""))},
		{reflect.TypeFor[string](), "base32", quote(text("A", "!"))},
		{reflect.TypeFor[string](), "jwt", quote("a." + text("a", ".a"))},
		{reflect.TypeFor[string](), "hexadecimal", quote(text("1", "!"))},
		{reflect.TypeFor[string](), "url_encoded", quote(text("%41", "!"))},
		{reflect.TypeFor[string](), "datauri", quote("data:text/plain," + text("QUJD", ""))},
		{reflect.TypeFor[string](), "mongodb_connection_string", quote("mongodb://" + text("a,", ""))},
		{reflect.TypeFor[string](), "origin", quote("https://" + text("a.", "!"))},
		{reflect.TypeFor[string](), "email|jwt", quote(text("* ", "!"))},
		{reflect.TypeFor[string](), "hostname|url", quote(text("a.", "!"))},
		{reflect.TypeFor[map[string]int](), "dive,keys,hostname,endkeys", "{" + quote(text("a.", "!")) + ":1}"},
		{reflect.TypeFor[any](), "hostname", quote(text("a.", "!"))},
	} {
		plain := decodeTime(t, withTag(tt.of, ""), tt.args, 0)
		judged := decodeTime(t, withTag(tt.of, tt.tag), tt.args, 200*plain)
		if judged > 200*plain { // most take less than 10 times as long, hostname|url 60 times
			t.Errorf("%s on %s took %v, and %v without the rule", tt.tag, tt.of, judged, plain)
		}
	}
}

func withTag(member reflect.Type, rule string) reflect.Type {
	tag := fmt.Sprintf(`json:"a" validate:%q`, rule)
	return reflect.StructOf([]reflect.StructField{{Name: "A", Type: member, Tag: reflect.StructTag(tag)}})
}

// decodeTime returns the shortest of five times for decoding the member of owner. If none is short enough, it
// tries for some time, because other work of the machine makes single times long.
func decodeTime(t *testing.T, owner reflect.Type, member string, enough time.Duration) time.Duration {
	t.Helper()
	plan := mustCompile(t, owner, binding.Input, binding.Options{})
	least := time.Hour
	for n := 0; n < 5 || n < 25 && least > enough; n++ {
		began := time.Now()
		// Only the time matters: some of the texts are values of the format.
		_, _ = plan.Decode(context.Background(), []byte(`{"a":`+member+`}`), reflect.New(owner).Elem())
		least = min(least, time.Since(began))
	}
	return least
}
