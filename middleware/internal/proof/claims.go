package proof

import (
	"encoding/json"
	"math"
	"strings"
	"time"
)

// NumericDate returns the time of a claim (RFC 7519 §2), which was read as a json.Number. If the claim
// is missing or not a date, it returns false.
func NumericDate(claim any) (time.Time, bool) {
	n, _ := claim.(json.Number)
	seconds, err := n.Float64()
	if err != nil || math.IsNaN(seconds) || math.Abs(seconds) > 1<<40 {
		return time.Time{}, false
	}
	return time.Unix(int64(seconds), 0), true
}

// Texts returns the texts of a claim that has one text or several.
func Texts(claim any) (list []string) {
	switch v := claim.(type) {
	case string:
		return []string{v}
	case []any:
		for _, each := range v {
			if text, ok := each.(string); ok {
				list = append(list, text)
			}
		}
	}
	return list
}

// IsScope reports whether s is a scope-token (RFC 6749 §3.3). Other characters could end the quotes of
// a challenge.
func IsScope(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
}
