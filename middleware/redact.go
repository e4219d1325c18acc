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

// secretText matches secrets that can be recognized anywhere: tokens with their scheme, JSON
// web tokens, marked keys of well-known services, private keys, passwords in URLs.
var secretText = regexp.MustCompile(strings.Join([]string{
	`(?i:\b(?:bearer|basic|dpop)\s+[a-z0-9._~+/=-]{8,})`,
	`\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*)*`,
	`\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}`,
	`\bgh[pousr]_[A-Za-z0-9]{20,}`, `\bgithub_pat_\w{20,}`, `\bglpat-[\w-]{16,}`,
	`\bxox[abeoprs]-[\w-]{10,}`, `\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`, `\bAIza[\w-]{30,}`,
	`-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*-----|\z)`,
	`://[^/\s:@]*:[^/\s@]+@`,
}, "|"))

// redactor hides what must not be written to a log.
type redactor struct {
	names    []string // as fold makes them
	patterns []*regexp.Regexp
}

// call returns what may be logged of a call's name and arguments, and the texts that were
// hidden.
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

// bounded cuts a text after secrets are hidden in it: half a token would not be recognized.
func (r *redactor) bounded(text string, most int, secrets []string) string {
	return bounded(r.text(bounded(text, maxRedacted), secrets), most)
}

// maxRedacted bounds what is looked through of one text, and of all arguments of a call:
// the expressions take a second for a megabyte, and what is written is far shorter.
const maxRedacted = 32 << 10

// text hides what looks like a secret, and the secrets of the call.
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
	left    int      // how many bytes of text may still be looked through
}

// value writes a JSON text without the members that have a secret name and without what
// looks like one in texts.
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

// quote writes as much of a text as may still be looked through: the rest must not be shown.
func (r *redaction) quote(text string) {
	text = bounded(text, r.left)
	r.left = max(0, r.left-len(text))
	r.dst = jsontext.Quote(r.dst, r.text(text, nil))
}

func (r *redactor) secretName(name string) bool {
	return framework.IsSecretName(name) || len(r.names) > 0 && slices.Contains(r.names, fold(name))
}

var separators = strings.NewReplacer("_", "", "-", "", ".", "")

// fold makes "API-Key", "api_key" and "apiKey" one name.
func fold(name string) string { return separators.Replace(strings.ToLower(name)) }
