package rules

import (
	"reflect"
	"slices"
	"sync"

	"github.com/go-playground/validator/v10"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
)

// longest is the size in bytes of the longest text of a format. A longer text is refused before validator
// looks at it, because validator's expressions need seconds for texts of megabytes. Formats without a bound
// are not listed.
var longest = map[string]int{
	"hostname": 254, "hostname_rfc1123": 254, "fqdn": 254, "hostname_port": 260, "hostname_label": 63, "dns_rfc1035_label": 63,
	"email": 320, "e164": 16, "port": 5,
	"uuid": 36, "uuid3": 36, "uuid4": 36, "uuid5": 36, "uuid7": 36, "uuid_rfc4122": 36, "uuid3_rfc4122": 36, "uuid4_rfc4122": 36, "uuid5_rfc4122": 36,
	"ulid": 26, "mongodb": 24,
	"ip": 45, "ipv4": 15, "ipv6": 45, "cidr": 49, "cidrv4": 18, "cidrv6": 49, "mac": 59,
	"hexcolor": 9, "rgb": 64, "rgba": 64, "hsl": 64, "hsla": 64, "cmyk": 64,
	"isbn": 17, "isbn10": 13, "isbn13": 17, "issn": 9, "ssn": 11, "ein": 10,
	"latitude": jsonedit.MaxNumberText, "longitude": jsonedit.MaxNumberText, "number": jsonedit.MaxNumberText, "numeric": jsonedit.MaxNumberText,
	"origin": 300, "mongodb_connection_string": 8192, "spicedb": 1024, "md4": 32, "md5": 32, "sha256": 64, "sha384": 96, "sha512": 128, "ripemd128": 32, "ripemd160": 40,
	"tiger128": 32, "tiger160": 40, "tiger192": 48,
	"btc_addr": 35, "btc_addr_bech32": 90, "eth_addr": 42, "eth_addr_checksum": 42,
	"semver": 1024, "cve": 32, "bic": 11, "bic_iso_9362_2014": 11, "bcp47_language_tag": 256, "bcp47_strict_language_tag": 256, "timezone": 256,
	"iso3166_1_alpha2": 2, "iso3166_1_alpha3": 3, "iso3166_1_alpha_numeric": 3, "iso3166_1_alpha2_eu": 2, "iso3166_1_alpha3_eu": 3,
	"iso3166_1_alpha_numeric_eu": 3, "iso3166_2": 6, "iso4217": 3, "iso4217_numeric": 3,
	"postcode_iso3166_alpha2": 16, "postcode_iso3166_alpha2_field": 16, "credit_card": 32, "luhn_checksum": 64, "cron": 1024,
}

// bound returns the size in bytes of the longest text that can satisfy the rules. It returns 0 if no rule has a bound.
func (c *Constraints) bound() int {
	least := 0
	for _, r := range c.Rules {
		if n := r.bound(); n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// limit sets the bounds of all levels.
func (c *Constraints) limit() {
	if c == nil {
		return
	}
	c.longest = c.bound()
	c.Keys.limit()
	c.Elem.limit()
}

// TooLong reports whether the rules exclude every text of n bytes.
func (c *Constraints) TooLong(n int) bool { return c != nil && c.longest > 0 && n > c.longest }

// bound returns the bound of a rule. For alternatives it returns the largest bound, if all have one.
func (r Rule) bound() int {
	if len(r.alts) == 0 {
		return longest[r.Name]
	}
	most := 0
	for _, alt := range r.alts {
		n := alt.bound()
		if n == 0 {
			return 0
		}
		most = max(most, n)
	}
	return most
}

// HasForm reports whether a rule, or each of its alternatives, is about the form of a text, as uuid4 and datetime are.
func (c *Constraints) HasForm() bool { return c != nil && slices.ContainsFunc(c.Rules, Rule.hasForm) }

func (r Rule) hasForm() bool {
	if len(r.alts) > 0 {
		return !slices.ContainsFunc(r.alts, func(alt Rule) bool { return !alt.hasForm() })
	}
	return r.Name == "datetime" || longest[r.Name] > 0
}

// refuseLong finds formats with a bound that no decoder applies: in keys, in values of any type, and beside an
// alternative without a bound, as in email|jwt. For these formats, validator itself must refuse long texts.
func (c *Compiler) refuseLong(k *Constraints, t reflect.Type, key bool) {
	if k == nil {
		return
	}
	t = gotype.Deref(t)
	for _, r := range k.Rules {
		if r.bound() > 0 && !key && t.Kind() != reflect.Interface {
			continue // a decoder applies it
		}
		for _, alt := range append(slices.Clip(r.alts), r) {
			if alt.bound() == 0 || len(alt.alts) > 0 || alt.between() || c.Long[alt.Name] {
				continue
			}
			if c.Long == nil {
				c.Long = map[string]bool{}
			}
			c.Long[alt.Name] = true
			c.judge = nil // it was made without this format
		}
	}
	if k.Keys != nil && t.Kind() == reflect.Map {
		c.refuseLong(k.Keys, t.Key(), true)
	}
	switch t.Kind() {
	case reflect.Map, reflect.Slice, reflect.Array:
		c.refuseLong(k.Elem, t.Elem(), false)
	}
}

// plain is a validator without functions of this package. All plans share it.
var plain = sync.OnceValue(func() *validator.Validate { return validator.New() })

// builtIn returns the verdict of validator's own function.
func builtIn(fl validator.FieldLevel, tag string) bool {
	return plain().Var(fl.Field().Interface(), Rule{Name: tag, Param: fl.Param()}.encode()) == nil
}
