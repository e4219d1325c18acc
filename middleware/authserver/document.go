package authserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Fetcher fetches client ID metadata documents, and JWK Sets of clients. The default uses https,
// port 443 and public addresses only (checked when dialing). It follows no redirects, and allows 5
// seconds, 5 KiB of JSON for a document and 32 KiB for a JWK Set. What it fetched is kept as
// Cache-Control says, for a minute to a day.
//
// JWK Sets of clients that were registered by hand may be at any address.
//
// An error means that the document cannot be fetched now. A document that does not exist any more is an
// empty one.
type Fetcher interface {
	Fetch(ctx context.Context, url string) (document []byte, fresh time.Duration, err error)
}

// Documents replaces the fetchers, for networks with a proxy.
func Documents(f Fetcher) Option {
	return optionFunc(func(c *config) { c.fetcher = f })
}

const (
	maxDocument   = 5 << 10
	maxDocuments  = 1000 // maximum number of kept documents
	fetchTime     = 5 * time.Second
	fetchesMinute = 100 // of all clients
	fetchesOfOne  = 20  // per minute, for requests of one address
	shortestFresh = time.Minute
	longestFresh  = 24 * time.Hour
)

// documents keeps fetched documents, and failures. allowed counts fetches.
type documents struct {
	recent[keptDocument]

	addresses, total counter // count fetches by the address of the request, and all of them
}

type keptDocument struct {
	client *Client
	err    error
	until  time.Time
	good   time.Time // when it was last fetched successfully
}

// usable reports whether the document may be used although it is old: its host may be away for a while.
func (k keptDocument) usable(now time.Time) bool {
	return k.client != nil && now.Before(k.good.Add(longestFresh))
}

func (d *documents) put(id string, k keptDocument) {
	d.change(id, maxDocuments, func(keptDocument) keptDocument { return k })
}

// remoteKey is the context key of the remote address of a request.
type remoteKey struct{}

// allowed counts a fetch. It returns false if there are too many in this minute, of the request's
// address or in total. One address must not use up the fetches of others.
func (d *documents) allowed(ctx context.Context, now time.Time) bool {
	remote, _ := ctx.Value(remoteKey{}).(string)
	return d.addresses.over(remote, fetchesOfOne, now) == 0 && d.total.over("", fetchesMinute, now) == 0
}

var errDocument = errors.New("authserver: the client's metadata document is not valid")

// errNotFetched means that there is no document now. An error that wraps it also wraps errDocument.
var errNotFetched = errors.New("authserver: the client's metadata document cannot be fetched now")

// byDocument returns a client with an ID that is the URL of its metadata
// (draft-ietf-oauth-client-id-metadata-document).
func (s *Server) byDocument(ctx context.Context, id string) (*Client, error) {
	now := time.Now()
	u, err := url.Parse(id)
	switch {
	case s.policy.NoDocuments || err != nil || len(id) > maxRedirect || strings.ContainsFunc(id, unprintable):
		return nil, errUnknownClient
	case u.User != nil || u.Fragment != "" || u.RawQuery != "" || u.Port() != "" || u.Path == "" || u.Path == "/" || dotted(u.EscapedPath()) || disguised(u):
		return nil, errUnknownClient
	case !inDomains(u.Hostname(), s.policy.Domains):
		return nil, errNotAdmitted
	}
	old := s.documents.get(id)
	switch {
	case now.Before(old.until):
		return old.client, old.err
	case s.documents.allowed(ctx, now):
	case old.usable(now):
		return old.client, nil
	default:
		return nil, refusedAs(http.StatusServiceUnavailable, "temporarily_unavailable", "Too many client documents are asked for. Try again later.", nil)
	}
	c, fresh, err := s.fetchClient(ctx, id)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	old = s.documents.get(id) // again, because another request may have fetched it meanwhile
	if err != nil && old.usable(now) && !errors.Is(err, errNotAdmitted) {
		s.documents.put(id, keptDocument{old.client, nil, now.Add(shortestFresh), old.good})
		return old.client, nil
	}
	s.documents.put(id, keptDocument{c, err, now.Add(min(max(fresh, shortestFresh), longestFresh)), now})
	return c, err
}

func dotted(path string) bool {
	return slices.ContainsFunc(strings.Split(path, "/"), func(part string) bool { return part == "." || part == ".." })
}

func (s *Server) fetchClient(ctx context.Context, id string) (*Client, time.Duration, error) {
	text, fresh, err := s.fetcher.Fetch(ctx, id)
	if errors.Is(err, errNoDocument) {
		return nil, 0, fmt.Errorf("%w: %w", errDocument, err)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w: %w", errDocument, errNotFetched, err)
	}
	var m registration
	if len(text) > maxDocument || json.Unmarshal(text, &m) != nil {
		return nil, 0, fmt.Errorf("%w: it is not a JSON object of at most 5 KiB", errDocument)
	}
	c, err := m.client()
	switch {
	case err != nil:
		return nil, 0, fmt.Errorf("%w: %w", errDocument, err)
	case m.ID != id:
		return nil, 0, fmt.Errorf("%w: its client_id is not its URL", errDocument)
	case m.Secret != "" || c.Method == methodBasic || c.Method == methodPost:
		return nil, 0, fmt.Errorf("%w: a public document cannot have a secret", errDocument)
	}
	c.ID, c.Known = id, ByDocument
	// One document is for all servers, so redirect URIs that are not accepted here are left out.
	c.RedirectURIs = slices.DeleteFunc(c.RedirectURIs, func(uri string) bool {
		_, err := judgeRedirect(uri, s.policy.Schemes)
		return err != nil
	})
	if len(c.RedirectURIs) == 0 {
		return nil, 0, errRedirect
	}
	if err := s.admits(ctx, c); err != nil {
		return nil, 0, err
	}
	s.tell(ctx, Event{Kind: DocumentFetched, ClientID: id})
	return c, fresh, nil
}

// webFetcher fetches from the Internet.
type webFetcher struct{ client *http.Client }

// newFetcher returns a default fetcher. allowed returns an error for addresses that it must not
// dial; nil allows all.
func newFetcher(allowed func(address string) error) *webFetcher {
	d := net.Dialer{Timeout: fetchTime}
	if allowed != nil {
		d.Control = func(_, address string, _ syscall.RawConn) error { return allowed(address) }
	}
	return &webFetcher{&http.Client{
		Transport:     &http.Transport{DialContext: d.DialContext, DisableKeepAlives: true, ForceAttemptHTTP2: true, TLSHandshakeTimeout: fetchTime},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       fetchTime,
	}}
}

// errNoDocument means that the host has no document at the address, or that the address must not be asked.
var errNoDocument = errors.New("there is no document")

// public returns an error for an address that the Internet cannot reach, and for any port but 443.
func public(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	a := at.Addr().Unmap()
	if at.Port() != 443 || !a.IsGlobalUnicast() || a.IsPrivate() || slices.ContainsFunc(notPublic, func(p netip.Prefix) bool { return p.Contains(a) }) {
		return fmt.Errorf("%w: the address is not public", errNoDocument)
	}
	return nil
}

// notPublic lists networks that netip treats as global (RFC 6890), or that hide other addresses.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("100::/64"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("2001::/32"), netip.MustParsePrefix("fec0::/10"), netip.MustParsePrefix("::/96"),
}

// Fetch gets a document or a JWK Set.
func (f *webFetcher) Fetch(ctx context.Context, address string) ([]byte, time.Duration, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, 0, err
	}
	r.Header.Set("Accept", "application/json")
	resp, err := f.client.Do(r)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone {
		return nil, 0, fmt.Errorf("%w: the answer is %d", errNoDocument, resp.StatusCode)
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode != http.StatusOK || kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		return nil, 0, fmt.Errorf("the answer is %d with type %q", resp.StatusCode, kind)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxKeySet+1))
	if err != nil {
		return nil, 0, err
	}
	return text, freshFor(resp.Header.Get("Cache-Control")), nil
}

// freshFor returns the max-age of Cache-Control. If there is none, or the answer must not be kept,
// it returns 0.
func freshFor(control string) time.Duration {
	fresh := time.Duration(0)
	for field := range strings.SplitSeq(control, ",") {
		name, value, _ := strings.Cut(strings.ToLower(strings.TrimSpace(field)), "=")
		switch name {
		case "no-store", "no-cache":
			return 0
		case "max-age":
			if n, err := strconv.Atoi(strings.Trim(value, `"`)); err == nil {
				fresh = time.Duration(min(n, int(longestFresh/time.Second))) * time.Second
			}
		}
	}
	return fresh
}
