package page

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/protocol/client"
)

// failed handles an error of a call that may mean that the connection is lost.
func (p *Page) failed(s *session, err error) {
	gone := lost(err)
	refused, isHTTP := errors.AsType[*client.HTTPError](err)
	if !gone && (!isHTTP || refused.Status != http.StatusUnauthorized) {
		return
	}
	p.mu.Lock()
	current := p.session == s && !p.closed
	if current {
		p.session = nil
	}
	p.mu.Unlock()
	if !current {
		return // closed on purpose, or another call has handled the error
	}
	denied := s.denied.Load() // before Close, which sends a request and cancels others
	ended := s.client.Close()
	s.denied.Store(denied)
	if ended != nil && errors.Is(err, io.ErrUnexpectedEOF) {
		err = ended // describes how the process has ended
	}
	p.mu.Lock()
	current = p.session == nil && p.state.Name == stateConnected // no new connection was made during Close
	p.mu.Unlock()
	if !current {
		return
	}
	p.setState(p.failure(s, err))
	p.seek()
}

// failure returns the state after an error of the connection.
func (p *Page) failure(s *session, err error) state {
	refused, isHTTP := errors.AsType[*client.HTTPError](err)
	switch {
	case isHTTP && refused.Status == http.StatusUnauthorized:
		return state{Name: stateLogin, Reason: p.unauthorized(refused)}
	case !isHTTP && s.denied.Load(): // the login has failed; another one would open another tab
		return state{Name: stateLogin, Reason: err.Error()}
	}
	if s.chosen != "" && s.refused(err) {
		return state{Name: stateRefused, Reason: s.chosen}
	}
	if p.options.Command != nil {
		ended := state{Name: stateEnded, Reason: err.Error()}
		if s.stderr != nil { // nil if the program was not even started
			ended.Stderr = s.stderr.lines()
		}
		return ended
	}
	return state{Name: stateLost, Reason: unpaged(err)}
}

// unauthorized says in words why the server requires a token. The body of the response is for
// programs, so the text does not contain it.
func (p *Page) unauthorized(refused *client.HTTPError) string {
	text := fmt.Sprintf("It answers HTTP %d.", refused.Status)
	if p.hasBearer() {
		text = fmt.Sprintf("It refused the token that it got, with HTTP %d.", refused.Status)
	}
	if why := refused.ChallengeParam("error_description"); why != "" {
		text += " It says: " + why
	}
	return text
}

// hasBearer reports whether the requests have a token.
func (p *Page) hasBearer() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bearer != ""
}

// unpaged returns the text of an error. If the server has answered with a page of HTML, the text is
// that there is no MCP server.
func unpaged(err error) string {
	refused, ok := errors.AsType[*client.HTTPError](err)
	if !ok {
		return err.Error()
	}
	body := strings.ToLower(strings.TrimSpace(refused.Body))
	if !strings.HasPrefix(body, "<!doctype") && !strings.HasPrefix(body, "<html") {
		return err.Error()
	}
	return fmt.Sprintf("There is no MCP server at this address: it answers HTTP %d with a page of HTML. The endpoint is usually at /mcp.", refused.Status)
}

// seek starts a goroutine that looks for a lost server, unless one is running.
func (p *Page) seek() {
	p.mu.Lock()
	start := p.state.Name == stateLost && !p.seeking && !p.closed
	p.seeking = p.seeking || start
	p.mu.Unlock()
	if start {
		p.spawn(p.comeBack)
	}
}

// comeBack tries to reach a lost server over HTTP, as long as a browser is connected. It opens a
// TCP connection before it connects, unless the requests are relayed. No call is repeated.
func (p *Page) comeBack() {
	timer := time.NewTimer(firstAgain)
	defer timer.Stop()
	for pause := firstAgain; ; timer.Reset(pause) {
		select {
		case <-p.life.Done():
			return
		case <-timer.C:
		}
		pause = min(2*pause, lastAgain)
		p.mu.Lock()
		over := p.session != nil || p.closed || p.viewers == 0 || p.state.Name != stateLost
		p.seeking = !over
		p.mu.Unlock()
		if over {
			return
		}
		if p.relayed() || reachable(p.life, p.options.URL) {
			_, _ = p.connected(p.life, false) // its error is the next state
			p.mu.Lock()
			again := p.state.Name == stateLost
			p.seeking = again
			p.mu.Unlock()
			if !again {
				return
			}
		}
	}
}

// relayed reports whether requests go through a proxy or a transport of the program. A TCP connection
// to the host of the URL then says nothing about the server.
func (p *Page) relayed() bool {
	if p.options.Transport != nil {
		return true
	}
	address, err := url.Parse(p.options.URL)
	if err != nil {
		return false
	}
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: address})
	return proxy != nil || err != nil
}

// reachable reports whether a TCP connection to the host of the URL succeeds.
func reachable(ctx context.Context, address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	port := u.Port()
	if port == "" {
		port = map[bool]string{true: "443", false: "80"}[u.Scheme == "https"]
	}
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}
