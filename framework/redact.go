package framework

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// leastHidden is how long a secret is that is looked for in a text.
const leastHidden = 4

// WithoutSecrets returns a text, such as that of an error, without what Masked has hidden,
// whether plain or as %q and JSON write it. Secrets of less than 4 bytes are not looked
// for: every text is full of "1".
func WithoutSecrets(text string, hidden []string) string {
	var found []stretch
	for _, secret := range hidden {
		if len(secret) < leastHidden {
			continue
		}
		for _, form := range writtenAs(secret) {
			found = appendFound(found, text, form)
		}
	}
	if len(found) == 0 {
		return text
	}
	// All are found before one is replaced: of two that overlap, a part would stay.
	slices.SortFunc(found, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
	var out strings.Builder
	shown := 0 // the end of what was written or hidden
	for _, f := range found {
		if f.from >= shown {
			out.WriteString(text[shown:f.from])
			out.WriteString(hiddenText)
		}
		shown = max(shown, f.to)
	}
	out.WriteString(text[shown:])
	return out.String()
}

// appendSecrets appends the texts of the members whose names say that they are secret.
func appendSecrets(all []string, arguments []byte) []string {
	switch jsontext.KindOf(arguments) {
	case jsontext.KindObject:
		for key, member := range jsontext.Members(arguments) {
			if secretName(key.String()) {
				all = jsontext.AppendTexts(all, member)
			} else {
				all = appendSecrets(all, member)
			}
		}
	case jsontext.KindArray:
		for item := range jsontext.Elements(arguments) {
			all = appendSecrets(all, item)
		}
	}
	return all
}

// stretch is a part of a text.
type stretch struct{ from, to int }

// appendFound appends the places of form, but for those that overlap the one before: whoever
// sends both texts could make their search take the square of their length.
func appendFound(found []stretch, text, form string) []stretch {
	for at := 0; ; {
		i := strings.Index(text[at:], form)
		if i < 0 {
			return found
		}
		from := at + i
		at = from + len(form)
		found = append(found, stretch{from, at})
	}
}

// writtenAs are the texts that a secret becomes in others, without their quotes.
func writtenAs(secret string) []string {
	forms := []string{secret}
	ofJSON, _ := json.Marshal(secret) // with escapes for HTML; a text always has a JSON form
	for _, quoted := range []string{strconv.Quote(secret), string(jsontext.Quote(nil, secret)), string(ofJSON)} {
		if form := quoted[1 : len(quoted)-1]; !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
	}
	return forms
}
