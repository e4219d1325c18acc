package middleware

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

const hidden = "[hidden]"

// secretText matches secrets that can be recognized in any text: tokens with their scheme, JSON web
// tokens, marked keys of well-known services, private keys, passwords in URLs.
var secretText = regexp.MustCompile(strings.Join([]string{
	`(?i:\b(?:bearer|basic|dpop)\s+[a-z0-9._~+/=-]{8,})`,
	`\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*)*`,
	`\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}`,
	`\bgh[pousr]_[A-Za-z0-9]{20,}`, `\bgithub_pat_\w{20,}`, `\bglpat-[\w-]{16,}`,
	`\bxox[abeoprs]-[\w-]{10,}`, `\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`, `\bAIza[\w-]{30,}`,
	`-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*-----|\z)`,
	`://[^/\s:@]*:[^/\s]+@`, // up to the last @, as in url.Parse
}, "|"))

// redactor hides secrets in texts for a log.
type redactor struct {
	names    []string // folded with fold
	patterns []*regexp.Regexp
}

// call returns the name and the arguments of a call for the log, and the texts that were hidden.
func (r *redactor) call(ctx context.Context, call *framework.Call, withArguments bool) (name string, arguments []byte, secrets []string) {
	name = r.bounded(framework.RedactName(ctx, call), maxName, nil)
	redacted, secrets := framework.RedactArguments(ctx, call.Arguments)
	if !withArguments || len(redacted) == 0 {
		return name, nil, secrets
	}
	seen := redaction{redactor: r, secrets: secrets, left: maxRedacted}
	seen.value(redacted)
	return name, seen.dst, seen.secrets
}

// bounded hides secrets in a text, and then cuts it. Cutting first could leave half a token, which
// would not be recognized.
func (r *redactor) bounded(text string, most int, secrets []string) string {
	return jsontext.Clip(r.text(jsontext.Clip(text, maxRedacted), secrets), most)
}

// maxRedacted bounds how much of one text, and of all arguments of a call, is searched for secrets.
// The expressions take a second for a megabyte, and the log contains far less.
const maxRedacted = 32 << 10

// text hides everything in a text that looks like a secret, and the secrets of the call.
func (r *redactor) text(text string, secrets []string) string {
	text = framework.RedactText(text, secrets)
	text = secretText.ReplaceAllString(text, hidden)
	for _, p := range r.patterns {
		text = p.ReplaceAllLiteralString(text, hidden)
	}
	return text
}

// redaction writes the arguments of one call for the log.
type redaction struct {
	*redactor

	dst     []byte
	secrets []string // the texts that were hidden
	left    int      // number of bytes of text that may still be searched
}

// value writes a JSON text. It hides the values of members with a secret name, and text that looks
// like a secret.
func (r *redaction) value(raw []byte) {
	more := false
	comma := func() {
		if more {
			r.dst = append(r.dst, ',')
		}
		more = true
	}
	switch jsontext.KindOf(raw) {
	case jsontext.KindObject:
		r.dst = append(r.dst, '{')
		for key, member := range jsontext.Members(raw) {
			comma()
			r.member(key.String(), member)
		}
		r.dst = append(r.dst, '}')
	case jsontext.KindArray:
		r.dst = append(r.dst, '[')
		for item := range jsontext.Elements(raw) {
			comma()
			r.value(item)
		}
		r.dst = append(r.dst, ']')
	case jsontext.KindString:
		text, _ := jsontext.String(raw)
		r.quote(text)
	case jsontext.KindNumber:
		r.number(string(raw))
	default:
		r.dst = jsontext.Compact(r.dst, raw)
	}
}

func (r *redaction) member(name string, value []byte) {
	r.quote(name)
	r.dst = append(r.dst, ':')
	if r.secretName(name) {
		r.secrets = jsontext.AppendTexts(r.secrets, value)
		r.dst = jsontext.Quote(r.dst, hidden)
		return
	}
	r.value(value)
}

// quote writes a text up to the number of bytes that may still be searched. The rest is not
// searched and must not be shown.
func (r *redaction) quote(text string) {
	text = jsontext.Clip(text, r.left)
	r.left = max(0, r.left-len(text))
	r.dst = jsontext.Quote(r.dst, r.text(text, nil))
}

// number writes a number. If a pattern matches it, such as the number of a card, the log has a
// string instead. The secrets that are always hidden are not numbers.
func (r *redaction) number(text string) {
	if len(r.patterns) > 0 {
		if len(text) > r.left || r.text(text, nil) != text {
			r.quote(text)
			return
		}
		r.left -= len(text)
	}
	r.dst = append(r.dst, text...)
}

func (r *redactor) secretName(name string) bool {
	return framework.IsSecretName(name) || len(r.names) > 0 && slices.Contains(r.names, fold(name))
}

var separators = strings.NewReplacer("_", "", "-", "", ".", "")

// fold returns a name in the form used for comparison: "API-Key", "api_key" and "apiKey" are the
// same.
func fold(name string) string { return separators.Replace(strings.ToLower(name)) }
