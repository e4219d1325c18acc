package framework

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/secretname"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// leastHidden is the length in bytes of the shortest secret that RedactText looks for.
const leastHidden = 4

// maxSearch limits the search for secrets, in bytes. A client can send a hundred thousand secrets
// as arguments, and long texts that errors repeat.
const maxSearch = 64 << 20

// RedactText replaces each of the hidden texts in text, such as the text of an error, with
// "[hidden]". Pass the hidden texts that RedactArguments returned. RedactText also finds them as
// %q and JSON write them. It does not look for secrets of less than 4 bytes, because every text
// is full of "1". If secrets and text are so long that the search would take long, it hides all
// of text.
func RedactText(text string, hidden []string) string {
	if len(hidden) > 0 && len(text) > maxSearch/len(hidden) {
		return hiddenText
	}
	// Find all secrets before replacing the first one. If two overlap, a part of one would remain.
	var ends []int // ends[i] is the end of a secret that begins at byte i, or 0
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
	shown := 0 // the end of the text that was written or hidden so far
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

// appendSecrets appends the texts of members whose names are names of secrets.
func appendSecrets(all []string, arguments []byte) []string {
	switch jsontext.KindOf(arguments) {
	case jsontext.KindObject:
		for key, member := range jsontext.Members(arguments) {
			if secretname.Is(key.String()) {
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

// mark records every occurrence of form in ends, and allocates ends at the first one. It skips an
// occurrence that overlaps the previous one of the same form. Otherwise a client that sends both
// texts could make the search take quadratic time.
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

// writtenAs returns the forms that a secret may have in a text, without quotes.
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
