package page

import (
	"errors"
	"net/http"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// allSpoken returns what the page knows of the revisions before the first connection. A server of
// this process speaks all of them. Every other server shows it by its answers.
func allSpoken(o *Options) map[string]bool {
	speaks := map[string]bool{}
	if o.Host != nil || o.Inside != nil {
		for _, rev := range protocol.Revisions() {
			speaks[rev.String()] = true
		}
	}
	return speaks
}

// received notes that the server has sent something.
func (s *session) received(f client.Frame) {
	if !f.Sent {
		s.answered.Store(true)
	}
}

// learn notes which revisions the attempt to connect has shown: the agreed one is spoken. If the page
// offered all revisions, the newer ones are not. A server that answers and does not agree to the only
// revision on offer does not speak it. err is the error of the attempt.
func (p *Page) learn(s *session, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		if s.chosen != "" && s.refused(err) {
			p.speaks[s.chosen] = false
		}
		return
	}
	agreed := s.client.Revision()
	p.speaks[agreed] = true
	for _, rev := range protocol.Revisions() {
		if name := rev.String(); s.chosen == "" && name > agreed && !p.speaks[name] {
			p.speaks[name] = false
		}
	}
}

// refused reports whether err is an answer of the server to the revision on offer. A server over HTTP
// may answer with the status 400 alone. A missing login says nothing about the revision.
func (s *session) refused(err error) bool {
	if status, ok := errors.AsType[*client.HTTPError](err); ok {
		return status.Status == http.StatusBadRequest
	}
	return s.answered.Load()
}
