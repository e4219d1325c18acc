package testkit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve/record"
)

// headOf returns the head of a session's record.
func headOf(c *config) (head record.Head, err error) {
	head = record.Head{Revision: c.dialect.String()}
	p := c.principal
	if p == nil {
		return head, nil
	}
	head.User, head.Issuer, head.Scopes = p.Subject, p.Issuer, p.Scopes
	if len(p.Claims) == 0 {
		return head, nil
	}
	claims, err := json.Marshal(p.Claims)
	head.Claims = json.RawMessage(claims)
	return head, err
}

// caller returns the principal in a record's head, or nil for an anonymous caller.
func caller(h record.Head) *framework.Principal {
	if h.User == "" && h.Issuer == "" && h.Scopes == nil && h.Claims == nil {
		return nil
	}
	claims, _ := new(player).resolve(h.Claims).(map[string]any)
	return &framework.Principal{Subject: h.User, Issuer: h.Issuer, Scopes: h.Scopes, Claims: claims}
}

// Record writes the session's frames, redacted and normalized, to a file for [Replay]. The file is
// written when the test ends, unless the test failed or was skipped. It has all frames of the
// session from its beginning, one per line. The first line has the caller: subject, issuer, scopes
// and claims. A session under [Session.Chaos] or with [Faults] cannot be recorded.
//
// Three kinds of secrets are redacted. The first are strings under names of secrets
// (framework.IsSecretName) and under the names of [Redact], also in JSON inside a text. The second
// are the same strings elsewhere, if they have at least four characters. The third are texts that
// look like a bearer token.
//
// Values that differ in each run are replaced by placeholders: IDs of tasks and of questions,
// states of calls, and times.
func (s *Session) Record(path string) {
	s.t.Helper()
	if s.chaos.Load() != nil {
		s.t.Fatalf("testkit: Record(%q): %s", path, underChaos)
	}
	if s.config.faults != nil {
		s.t.Fatalf("testkit: Record(%q): the carrier of the session repeats answers: use a session without Faults", path)
	}
	s.t.Cleanup(func() {
		s.t.Helper()
		if s.unmet(); s.endedEarly() {
			return
		}
		if s.chaos.Load() != nil {
			s.t.Errorf("testkit: Record(%q): %s", path, underChaos)
			return
		}
		frames, dropped := s.wire.exchange.all()
		if dropped > 0 {
			s.t.Errorf("testkit: Record(%q): the session has more than %d MiB", path, exchangeBytes>>20)
			return
		}
		if err := s.save(path, frames); err != nil {
			s.t.Errorf("testkit: Record(%q): %v", path, err)
		}
	})
}

// underChaos is the failure message for a record of many servers.
const underChaos = "the session is under Chaos and has many servers: use another session for it"

func (s *Session) save(path string, frames []frame) error {
	head, err := headOf(&s.config)
	if err != nil {
		return fmt.Errorf("writing the claims: %w", err)
	}
	all := make([]record.Frame, len(frames))
	for i, f := range frames {
		all[i] = record.Frame{Sent: f.sent, Text: f.text}
	}
	var text bytes.Buffer
	if err := record.Write(&text, head, s.config.secrets, all); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		return fmt.Errorf("writing the file: %w", err)
	}
	return nil
}

// Redact keeps strings and numbers under these names out of records, in any letter case. Strings
// and numbers in objects and lists under the names are also redacted.
func Redact(names ...string) Option {
	names = slices.Clone(names)
	return optionFunc(func(c *config) { c.secrets = append(slices.Clip(c.secrets), names...) })
}
