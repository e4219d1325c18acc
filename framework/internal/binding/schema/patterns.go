package schema

// DurationPattern is the pattern of durations in the form of package time.
const DurationPattern = `^[-+]?(?:0|(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)$`

// Patterns are validator's regular expressions in the part of the syntax that
// ECMAScript (with the u flag), RE2 and JSON have in common. Clients compile them,
// and ajv refuses a whole tools/list because of one pattern that it cannot read.
var Patterns = map[string]string{
	"alpha":           `^[a-zA-Z]+$`,
	"alphaspace":      `^[a-zA-Z ]+$`,
	"alphanum":        `^[a-zA-Z0-9]+$`,
	"alphanumspace":   `^[a-zA-Z0-9 ]+$`,
	"alphaunicode":    `^[\p{L}]+$`,
	"alphanumunicode": `^[\p{L}\p{N}]+$`,
	"numeric":         `^[-+]?[0-9]+(?:\.[0-9]+)?$`,
	"number":          `^[0-9]+$`,
	"hexadecimal":     `^(?:0[xX])?[0-9a-fA-F]+$`,
	"hexcolor":        `^#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{4}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})$`,
	"e164":            `^\+?[1-9][0-9]{7,14}$`,
	"uuid3":           `^[0-9a-f]{8}-[0-9a-f]{4}-3[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$`,
	"uuid4":           `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`,
	"uuid5":           `^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`,
	"uuid7":           `^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`,
	"ulid":            `^[0-7][A-HJKMNP-TV-Za-hjkmnp-tv-z0-9]{25}$`,
	"md4":             `^[0-9a-f]{32}$`,
	"md5":             `^[0-9a-f]{32}$`,
	"sha256":          `^[0-9a-f]{64}$`,
	"sha384":          `^[0-9a-f]{96}$`,
	"sha512":          `^[0-9a-f]{128}$`,
	"ascii":           `^[\x00-\x7F]*$`,
	"printascii":      `^[\x20-\x7E]*$`,
	"semver": `^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)` +
		`(?:-((?:0|[1-9][0-9]*|[0-9]*[a-zA-Z\x2d][0-9a-zA-Z\x2d]*)(?:\.(?:0|[1-9][0-9]*|[0-9]*[a-zA-Z\x2d][0-9a-zA-Z\x2d]*))*))?` +
		`(?:\+([0-9a-zA-Z\x2d]+(?:\.[0-9a-zA-Z\x2d]+)*))?$`,
	"mongodb": `^[a-f0-9]{24}$`,
	"ein":     `^[0-9]{2}-[0-9]{7}$`,
}

// IPFormats are the alternatives for an IP address.
const IPFormats = `[{"format":"ipv4"},{"format":"ipv6"}]`
