package gotype

import (
	"errors"
	"net/url"
)

// URL is an absolute URL, a string in JSON. net/url's own type has no text form:
// encoding/json writes its eleven fields.
type URL struct{ url.URL }

// String returns the URL as text. Its receiver is a value, so that %s also works for a URL that is not addressable.
func (u URL) String() string { return u.URL.String() }

// MarshalText is the URL as text.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText takes an absolute URL.
func (u *URL) UnmarshalText(text []byte) error {
	parsed, err := url.Parse(string(text))
	if err != nil || !parsed.IsAbs() {
		return errors.New("want an absolute URL such as https://example.com/a")
	}
	u.URL = *parsed
	return nil
}
