package rules

// formats are the formats of JSON Schema that correspond to rules. Most readers take formats as annotations.
// Validator judges the values, and is stricter in some cases: it refuses a@localhost, and URLs without a
// scheme or a host.
var formats = map[string]string{
	"email": "email", "url": "uri", "uri": "uri", "http_url": "uri", "https_url": "uri",
	"uuid": "uuid", "uuid_rfc4122": "uuid", "ipv4": "ipv4", "ipv6": "ipv6",
	"hostname": "hostname", "hostname_rfc1123": "hostname", "fqdn": "hostname",
}

// formatNotes describe what is special about a rule with a format.
var formatNotes = map[string]string{
	"http_url": "An http or https URL.", "https_url": "An https URL.", "fqdn": "A full host name such as www.example.com.",
}

// sentences describe rules that no keyword expresses.
var sentences = map[string]string{
	"iscolor":                    "A color such as #ff8800.",
	"country_code":               "A country code such as DE.",
	"eu_country_code":            "A country code of the EU such as DE.",
	"base64":                     "Base64 text.",
	"base64url":                  "Base64url text.",
	"base64rawurl":               "Base64url text without padding.",
	"jwt":                        "A JSON Web Token.",
	"cidr":                       "A network such as 10.0.0.0/8.",
	"cidrv4":                     "An IPv4 network such as 10.0.0.0/8.",
	"cidrv6":                     "An IPv6 network such as 2001:db8::/32.",
	"mac":                        "A MAC address.",
	"latitude":                   "A latitude in degrees, -90 to 90.",
	"longitude":                  "A longitude in degrees, -180 to 180.",
	"timezone":                   "A time zone name such as Europe/Berlin.",
	"credit_card":                "A credit card number.",
	"cron":                       "A cron expression.",
	"json":                       "JSON text.",
	"html":                       "HTML text.",
	"lowercase":                  "Lower case only.",
	"uppercase":                  "Upper case only.",
	"port":                       "A port number, 1 to 65535.",
	"hostname_port":              "A host and port such as example.com:443.",
	"iso3166_1_alpha2":           "A two-letter country code such as DE.",
	"iso3166_1_alpha3":           "A three-letter country code such as DEU.",
	"iso4217":                    "A currency code such as EUR.",
	"bcp47_language_tag":         "A language tag such as en-US.",
	"isbn":                       "An ISBN.",
	"datauri":                    "A data URI.",
	"luhn_checksum":              "A number with a valid Luhn checksum.",
	"base32":                     "Base32 text.",
	"bcp47_strict_language_tag":  "A language tag such as en-US.",
	"bic":                        "A BIC such as DEUTDEFF.",
	"bic_iso_9362_2014":          "A BIC such as DEUTDEFF.",
	"btc_addr":                   "A Bitcoin address.",
	"btc_addr_bech32":            "A Bitcoin address in Bech32.",
	"cmyk":                       "A color such as cmyk(0%, 100%, 100%, 0%).",
	"cve":                        "A CVE number such as CVE-2021-44228.",
	"dns_rfc1035_label":          "A DNS label such as my-host.",
	"duration":                   "A duration such as 1h30m.",
	"eth_addr":                   "An Ethereum address.",
	"eth_addr_checksum":          "An Ethereum address with its checksum.",
	"hostname_label":             "A DNS label such as my-host.",
	"hsl":                        "A color such as hsl(0, 100%, 50%).",
	"hsla":                       "A color such as hsla(0, 100%, 50%, 0.5).",
	"html_encoded":               "Text with HTML entities such as &#60;.",
	"isbn10":                     "An ISBN of ten digits.",
	"isbn13":                     "An ISBN of thirteen digits.",
	"isdefault":                  "Only the zero value.",
	"iso3166_1_alpha2_eu":        "A two-letter country code of the EU such as DE.",
	"iso3166_1_alpha3_eu":        "A three-letter country code of the EU such as DEU.",
	"iso3166_1_alpha_numeric":    "A numeric country code such as 276.",
	"iso3166_1_alpha_numeric_eu": "A numeric country code of the EU such as 276.",
	"iso3166_2":                  "A code of a country's part such as DE-BY.",
	"iso4217_numeric":            "A numeric currency code such as 978.",
	"issn":                       "An ISSN.",
	"mongodb_connection_string":  "A MongoDB connection string.",
	"multibyte":                  "Text with a character outside of ASCII.",
	"origin":                     "An origin such as https://example.com.",
	"rgb":                        "A color such as rgb(255, 0, 0).",
	"rgba":                       "A color such as rgba(255, 0, 0, 0.5).",
	"ripemd128":                  "A RIPEMD-128 hash in hexadecimal.",
	"ripemd160":                  "A RIPEMD-160 hash in hexadecimal.",
	"spicedb":                    "A SpiceDB identifier.",
	"ssn":                        "A US social security number.",
	"tiger128":                   "A Tiger hash of 128 bits in hexadecimal.",
	"tiger160":                   "A Tiger hash of 160 bits in hexadecimal.",
	"tiger192":                   "A Tiger hash of 192 bits in hexadecimal.",
	"url_encoded":                "Percent-encoded text such as a%20b.",
	"urn_rfc2141":                "A URN.",
	"urn_rfc8141":                "A URN.",
	"uuid3_rfc4122":              "A UUID of version 3.",
	"uuid4_rfc4122":              "A UUID of version 4.",
	"uuid5_rfc4122":              "A UUID of version 5.",
}

var timeSentences = map[string]string{
	"gt": "In the future.", "gte": "Not in the past.", "lt": "In the past.", "lte": "Not in the future.",
}

var boundSentences = map[string]string{
	"min": "At least", "gte": "At least", "gt": "More than",
	"max": "At most", "lte": "At most", "lt": "Less than",
	"len": "Exactly", "eq": "Exactly", "ne": "Not",
	"eq_ignore_case": "In upper or lower case:", "ne_ignore_case": "Not in upper or lower case:",
	"postcode_iso3166_alpha2": "A postal code of",
}

var listSentences = map[string]string{
	"oneof": "One of:", "noneof": "None of:",
	"oneofci": "One of, in upper or lower case:", "noneofci": "None of, in upper or lower case:",
}

var fieldSentences = map[string]string{
	"eqfield": "Must equal", "nefield": "Must differ from",
	"gtfield": "Must be greater than", "gtefield": "Must not be less than",
	"ltfield": "Must be less than", "ltefield": "Must not be greater than",
	"eqcsfield": "Must equal", "necsfield": "Must differ from",
	"gtcsfield": "Must be greater than", "gtecsfield": "Must not be less than",
	"ltcsfield": "Must be less than", "ltecsfield": "Must not be greater than",
	"fieldcontains": "Must contain the value of", "fieldexcludes": "Must not contain the value of",
	"postcode_iso3166_alpha2_field": "A postal code of the country in",
}

// PresenceSentences begin the sentences for rules that demand or forbid a member, depending on other members.
var PresenceSentences = map[string]string{
	"required_if": "Required if", "required_unless": "Required unless", "skip_unless": "Required if",
	"required_with": "Required if", "required_with_all": "Required if",
	"required_without": "Required if", "required_without_all": "Required if",
	"excluded_if": "Not allowed if", "excluded_unless": "Not allowed unless",
	"excluded_with": "Not allowed if", "excluded_with_all": "Not allowed if",
	"excluded_without": "Not allowed if", "excluded_without_all": "Not allowed if",
}
