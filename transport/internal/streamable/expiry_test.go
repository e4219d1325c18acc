package streamable_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// as is a request with a token that is good until then; the session is the site's.
func (s *site) as(until time.Time, method, call string, header ...string) *streamable.Reply {
	s.t.Helper()
	ctx := transport.WithPrincipal(s.t.Context(), &transport.Principal{Subject: "ann", Expires: until})
	return s.doContext(ctx, method, call, header...)
}

// newSiteAs is a site whose session is Ann's.
func newSiteAs(t *testing.T, h *host, until time.Time) *site {
	t.Helper()
	s := &site{t: t, e: streamable.New(h, streamable.Config{})}
	s.session = field(s.as(until, http.MethodPost, "initialize").Header, "Mcp-Session-Id")
	return s
}

// What was opened by GET ends when its token expires, and not before; the session stays,
// and goes on with the next token where it was.
func TestStreamEndsWithItsToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &host{plan: polling, log: &keeper{}, handle: func(ctx context.Context, _ string, _ func(string) error) (int, string) {
			link, _ := transport.RequestFrom(ctx).Sessions.Find()
			_ = link.Out.Send(ctx, transport.Frame{JSON: []byte(`{"changed":true}`)})
			return http.StatusOK, `{"a":1}`
		}}
		began := time.Now()
		first, second := began.Add(time.Minute), began.Add(time.Hour)
		s := newSiteAs(t, h, first)
		defer s.stop()
		c := s.carry(s.as(first, http.MethodGet, ""), -1).wait()
		if took := time.Since(began); took != time.Minute {
			t.Errorf("the stream ended after %s", took)
		}
		if r := s.as(second, http.MethodPost, "x"); r.Status != http.StatusOK {
			t.Fatalf("the session: %d %s", r.Status, r.Body)
		}
		again := s.carry(s.as(second, http.MethodGet, "", "Last-Event-ID: "+c.events()[0].id), -1)
		synctest.Wait()
		if got := again.events(); len(got) != 1 || got[0].data != `{"changed":true}` {
			t.Errorf("what was missed: %v", got)
		}
		again.wait()
		if took := time.Since(began); took != time.Hour {
			t.Errorf("the resumed stream ended after %s", took)
		}
	})
}

// TestAcceptedCallOutlivesItsToken checks that an accepted call and its response go on after the
// token has expired. A client that resumes the response needs a valid token.
func TestAcceptedCallOutlivesItsToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &host{plan: polling, log: &keeper{}, handle: func(_ context.Context, _ string, send func(string) error) (int, string) {
			_ = send(`{"progress":1}`)
			time.Sleep(time.Hour)
			return http.StatusOK, `{"a":1}`
		}}
		began := time.Now()
		until := began.Add(time.Minute)
		s := newSiteAs(t, h, until)
		defer s.stop()
		whole := s.carry(s.as(until, http.MethodPost, "x"), -1)
		broken := s.carry(s.as(until, http.MethodPost, "x"), -1)
		synctest.Wait()
		broken.cancel()
		broken.wait()
		id := "Last-Event-ID: " + broken.events()[1].id
		s.carry(s.as(until, http.MethodGet, "", id), -1).wait()
		if took := time.Since(began); took != time.Minute {
			t.Errorf("the resumed stream ended after %s", took)
		}
		rest := s.carry(s.as(time.Time{}, http.MethodGet, "", id), -1).wait()
		for name, c := range map[string]*connection{"response": whole.wait(), "resumed": rest} {
			got := c.events()
			if len(got) == 0 || got[len(got)-1].data != `{"a":1}` {
				t.Errorf("%s: %v", name, got)
			}
		}
	})
}

// TestFollowedStreamEndsWithItsToken: so does one that is resumed at another node than the one
// that writes it.
func TestFollowedStreamEndsWithItsToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, polling, streamable.Config{}, func(_ context.Context, _ string, send func(string) error) (int, string) {
			_ = send(`{"progress":1}`)
			time.Sleep(10 * time.Minute)
			return http.StatusOK, `{"a":1}`
		})
		defer p.stop()
		began := time.Now()
		until := began.Add(time.Minute)
		p.a.session = field(p.a.as(until, http.MethodPost, "initialize").Header, "Mcp-Session-Id")
		p.b.session = p.a.session
		broken := p.a.carry(p.a.as(until, http.MethodPost, "x"), -1)
		synctest.Wait()
		broken.cancel()
		broken.wait()
		id := "Last-Event-ID: " + broken.events()[1].id
		first := p.b.carry(p.b.as(until, http.MethodGet, "", id), -1).wait()
		if took := time.Since(began); took != time.Minute || len(first.events()) != 0 {
			t.Errorf("the resumed stream ended after %s, with %v", took, first.events())
		}
		rest := p.b.carry(p.b.as(time.Time{}, http.MethodGet, "", id), -1).wait().events()
		if len(rest) != 1 || rest[0].data != `{"a":1}` {
			t.Errorf("the rest: %v", rest)
		}
	})
}
