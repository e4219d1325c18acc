package testkit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/kagami-mcp/kagami/framework"
)

// recordVersion of the format.
const recordVersion = 1

// recordHead is the first line of a record: its format, and who called.
type recordHead struct {
	Version  int      `json:"testkit"`
	Revision string   `json:"revision"`
	User     string   `json:"user,omitempty"`
	Issuer   string   `json:"issuer,omitempty"`
	Scopes   []string `json:"scopes,omitempty"`
	Claims   any      `json:"claims,omitempty"`
}

// headOf returns the head of a session's record, and the claims before redaction.
func headOf(c *config) (head recordHead, claims []byte, err error) {
	head = recordHead{Version: recordVersion, Revision: c.dialect.String()}
	p := c.principal
	if p == nil {
		return head, nil, nil
	}
	head.User, head.Issuer, head.Scopes = p.Subject, p.Issuer, p.Scopes
	if len(p.Claims) > 0 {
		claims, err = json.Marshal(p.Claims)
	}
	return head, claims, err
}

// principal returns who called; nil for an anonymous caller.
func (h *recordHead) principal() *framework.Principal {
	if h.User == "" && h.Issuer == "" && h.Scopes == nil && h.Claims == nil {
		return nil
	}
	claims, _ := new(player).resolve(h.Claims).(map[string]any)
	return &framework.Principal{Subject: h.User, Issuer: h.Issuer, Scopes: h.Scopes, Claims: claims}
}

// recordLine is one frame: JSON, or a JSON string if the frame is not JSON.
type recordLine struct {
	Client any `json:"client,omitempty"`
	Server any `json:"server,omitempty"`
}

// Record writes the session's frames, redacted and normalised, to a file for [Replay]. It
// is written when the test ends, unless the test failed or was skipped, with all frames of the
// session from its beginning, one per line. It begins with who called: subject, issuer, scopes and
// claims.
//
// Redacted are: strings under names that speak of secrets (framework.SecretName) and under
// the names of [Redact], also in JSON inside a text; the same strings wherever else they
// occur, if they have at least four characters; and whatever looks like a bearer token.
// What differs in each run is replaced by a name: ids of tasks and of questions, states of
// calls, times.
func (s *Session) Record(path string) {
	s.t.Helper()
	if s.chaos.Load() != nil {
		s.t.Fatalf("testkit: Record of a session under Chaos, which has many servers")
	}
	s.t.Cleanup(func() {
		s.t.Helper()
		if s.unmet(); s.endedEarly() {
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

func (s *Session) save(path string, frames []frame) error {
	head, claims, err := headOf(&s.config)
	if err != nil {
		return fmt.Errorf("writing the claims: %w", err)
	}
	n := newNormal(s.config.secrets, append(slices.Clip(frames), frame{text: claims}))
	if claims != nil {
		head.Claims = n.frame(claims)
	}
	var text bytes.Buffer
	lines := json.NewEncoder(&text)
	lines.SetEscapeHTML(false)
	if err := lines.Encode(head); err != nil {
		return fmt.Errorf("writing the head: %w", err)
	}
	for _, f := range frames {
		v := n.frame(f.text)
		line := recordLine{Server: v}
		if f.sent {
			line = recordLine{Client: v}
		}
		if err := lines.Encode(line); err != nil {
			return fmt.Errorf("writing a frame: %w", err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		return fmt.Errorf("writing the file: %w", err)
	}
	return nil
}

// Redact keeps strings and numbers under these names out of records, in any letter case,
// those in objects and lists under them included.
func Redact(names ...string) Option {
	return optionFunc(func(c *config) { c.secrets = append(slices.Clip(c.secrets), names...) })
}
