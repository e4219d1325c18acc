package binding

import (
	"reflect"
	"strconv"
	"strings"
)

// longest is how many bytes a text of a format can have. A longer one is refused before
// validator looks at it, because its expressions need seconds for texts of megabytes. Formats
// that have no bound are not listed.
var longest = map[string]int{
	"hostname": 254, "hostname_rfc1123": 254, "fqdn": 254, "hostname_port": 260, "hostname_label": 63, "dns_rfc1035_label": 63,
	"email": 320, "e164": 16, "port": 5,
	"uuid": 36, "uuid3": 36, "uuid4": 36, "uuid5": 36, "uuid_rfc4122": 36, "uuid3_rfc4122": 36, "uuid4_rfc4122": 36, "uuid5_rfc4122": 36,
	"ulid": 26, "mongodb": 24,
	"ip": 45, "ipv4": 15, "ipv6": 45, "cidr": 49, "cidrv4": 18, "cidrv6": 49, "mac": 59,
	"hexcolor": 9, "rgb": 64, "rgba": 64, "hsl": 64, "hsla": 64, "cmyk": 64,
	"isbn": 17, "isbn10": 13, "isbn13": 17, "issn": 9, "ssn": 11, "ein": 10,
	"latitude": maxNumberText, "longitude": maxNumberText, "number": maxNumberText, "numeric": maxNumberText,
	"md4": 32, "md5": 32, "sha256": 64, "sha384": 96, "sha512": 128, "ripemd128": 32, "ripemd160": 40,
	"tiger128": 32, "tiger160": 40, "tiger192": 48,
	"btc_addr": 35, "btc_addr_bech32": 90, "eth_addr": 42, "eth_addr_checksum": 42,
	"semver": 1024, "cve": 32, "bic": 11, "bic_iso_9362_2014": 11, "bcp47_language_tag": 256, "timezone": 256,
	"iso3166_1_alpha2": 2, "iso3166_1_alpha3": 3, "iso3166_1_alpha_numeric": 3, "iso3166_1_alpha2_eu": 2, "iso3166_1_alpha3_eu": 3,
	"iso3166_1_alpha_numeric_eu": 3, "iso3166_2": 6, "iso4217": 3, "iso4217_numeric": 3,
	"postcode_iso3166_alpha2": 16, "postcode_iso3166_alpha2_field": 16, "credit_card": 32, "luhn_checksum": 64, "cron": 1024,
}

// maxNumberText bounds the text of a number, as the limits of JSON bound a number.
const maxNumberText = 400

// bound returns how many bytes a text that satisfies the rules can have; 0: no rule bounds it.
func (c *constraints) bound() int {
	least := 0
	for _, r := range c.rules {
		if n := r.bound(); n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// limit sets the bounds of all levels.
func (c *constraints) limit() {
	if c == nil {
		return
	}
	c.longest = c.bound()
	c.keys.limit()
	c.elem.limit()
}

// tooLong reports whether the rules exclude every text of n bytes.
func (c *constraints) tooLong(n int) bool { return c != nil && c.longest > 0 && n > c.longest }

// bound is the largest bound of the alternatives, if all have one.
func (r rule) bound() int {
	if len(r.alts) == 0 {
		return longest[r.name]
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

// absurd reports whether text begins like a number and has an exponent beyond the bound of
// numbers: types that compute with such a text, such as big.Rat, write it out, and ten bytes
// become megabytes. Both sides of a fraction count.
func absurd(text string) bool {
	for part := range strings.SplitSeq(text, "/") {
		part = strings.TrimLeft(part, " +-")
		if part == "" || part[0] != '.' && (part[0] < '0' || part[0] > '9') {
			continue
		}
		i := strings.LastIndexAny(part, "eEpP")
		if i < 0 {
			continue
		}
		digits := strings.TrimLeft(strings.ReplaceAll(part[i+1:], "_", ""), "+-0")
		if digits == "" || strings.Trim(digits, "0123456789") != "" {
			continue
		}
		if n, err := strconv.Atoi(digits); err != nil || n > maxNumberText {
			return true
		}
	}
	return false
}

// holdsBig reports whether t is a type of package math/big, or a struct around one, as types of
// decimals are. depth bounds how deep it looks.
func holdsBig(t reflect.Type, depth int) bool {
	t = deref(t)
	switch {
	case t.PkgPath() == "math/big":
		return true
	case t.Kind() != reflect.Struct || depth == 0:
		return false
	}
	for f := range t.Fields() {
		if holdsBig(f.Type, depth-1) {
			return true
		}
	}
	return false
}
