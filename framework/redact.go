package framework

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// leastHidden is how long a secret is that is looked for in a text.
const leastHidden = 4

// maxSearch bounds the bytes that are looked through for secrets: whoever sends the arguments
// may send a hundred thousand secrets, and texts that errors repeat.
const maxSearch = 64 << 20

// WithoutSecrets returns a text, such as that of an error, without what Masked has hidden,
// whether plain or as %q and JSON write it. Secrets of less than 4 bytes are not looked
// for: every text is full of "1". Where there are so many secrets, and so much text, that the
// search would take long, all of the text is hidden.
func WithoutSecrets(text string, hidden []string) string {
	if len(hidden) > 0 && len(text) > maxSearch/len(hidden) {
		return hiddenText
	}
	// All are found before one is replaced: of two that overlap, a part would stay.
	var ends []int // at the byte at which a secret begins: where it ends
	for _, secret := range hidden {
		if len(secret) < leastHidden || len(secret) > len(text) {
			continue
		}
		for _, form := range writtenAs(secret) {
			ends = mark(ends, text, form)
		}
	}
	if ends == nil {
		return text
	}
	var out strings.Builder
	shown := 0 // the end of what was written or hidden
	for from, to := range ends {
		if to == 0 {
			continue
		}
		if from >= shown {
			out.WriteString(text[shown:from])
			out.WriteString(hiddenText)
		}
		shown = max(shown, to)
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

// mark notes the places of form in ends, which it makes at the first, except those that
// overlap the one before: whoever sends both texts could make their search take the square
// of their length.
func mark(ends []int, text, form string) []int {
	for at := 0; ; {
		i := strings.Index(text[at:], form)
		if i < 0 {
			return ends
		}
		if ends == nil {
			ends = make([]int, len(text))
		}
		from := at + i
		at = from + len(form)
		ends[from] = max(ends[from], at)
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
