package gotype

import (
	"encoding"
	"encoding/json"
	"math/big"
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"time"
)

// Types that package plan reads and writes in its own way, or whose methods it looks for.
var (
	TimeType       = reflect.TypeFor[time.Time]()
	DurationType   = reflect.TypeFor[time.Duration]()
	NumberType     = reflect.TypeFor[json.Number]()
	RawType        = reflect.TypeFor[json.RawMessage]()
	BigIntType     = reflect.TypeFor[big.Int]()
	StdURLType     = reflect.TypeFor[url.URL]()
	IPType         = reflect.TypeFor[net.IP]()
	AddrType       = reflect.TypeFor[netip.Addr]()
	URLType        = reflect.TypeFor[URL]()
	PrefixType     = reflect.TypeFor[netip.Prefix]()
	AddrPortType   = reflect.TypeFor[netip.AddrPort]()
	BigFloatType   = reflect.TypeFor[big.Float]()
	BigRatType     = reflect.TypeFor[big.Rat]()
	JSONReader     = reflect.TypeFor[json.Unmarshaler]()
	JSONWriter     = reflect.TypeFor[json.Marshaler]()
	TextReader     = reflect.TypeFor[encoding.TextUnmarshaler]()
	TextWriter     = reflect.TypeFor[encoding.TextMarshaler]()
	EmptyInterface = reflect.TypeFor[any]()
)

// IsInt reports whether k is a kind of signed integers.
func IsInt(k reflect.Kind) bool { return k >= reflect.Int && k <= reflect.Int64 }

// IsUint reports whether k is a kind of unsigned integers.
func IsUint(k reflect.Kind) bool { return k >= reflect.Uint && k <= reflect.Uint64 }

// DurationText is the shortest usual form: 1h0m0s becomes 1h, 1m30s becomes
// 90s only where the author wrote it so, hence stays.
func DurationText(d time.Duration) string {
	s := d.String()
	if n := len(s); n > 3 && s[n-3:] == "m0s" {
		s = s[:n-2]
	}
	if n := len(s); n > 3 && s[n-3:] == "h0m" {
		s = s[:n-2]
	}
	return s
}

// importPath is the path part of a qualified type argument, as in
// Box[example.com/a/b.Node].
var importPath = regexp.MustCompile(`[A-Za-z0-9_.~%+/-]*\.`)

// PlainName is the type's name without package paths in its type arguments.
func PlainName(t reflect.Type) string { return importPath.ReplaceAllString(t.Name(), "") }

// Deref is the type behind pointers.
func Deref(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer && !Endless(t) {
		t = t.Elem()
	}
	return t
}

// Endless reports whether a pointer leads only to pointers, as type P *P does. Only named
// types can.
func Endless(t reflect.Type) bool {
	seen := map[reflect.Type]bool{}
	for t.Kind() == reflect.Pointer && t.Name() != "" {
		if seen[t] {
			return true
		}
		seen[t] = true
		t = t.Elem()
	}
	return false
}
