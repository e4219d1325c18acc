package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/kagami-mcp/kagami/middleware/internal/proof"
	"github.com/kagami-mcp/kagami/transport"
)

// DPoP demands proofs of possession (RFC 9449): tokens must be bound to a key and come with
// the scheme DPoP, and every request must bring a proof that its sender holds the key, made
// for this request and not used before. A stolen token is then useless. Without DPoP, bound
// tokens are refused: they would be bearer tokens otherwise.
//
// A proof is for the method of its request and for its URL: that of Resource, or the path
// of the request on the host of Resource, which is what clients see behind a proxy. Headers
// play no part in it, neither Host nor those of proxies. Without a Resource everything is
// refused with 503. Proofs are remembered by this process: with several, a proof may be
// used once at each, within its minute. There is room for 500,000 of them, some 7,500 a
// second; more are refused with 503. Nonces of the server are not used.
func DPoP() Option {
	return optionFunc(func(c *config) { c.proofs = proof.New() })
}

var errBound = &rejection{told: "the token is bound to a key, and proofs are not taken here"}

// bound checks whether the token is bound to a key and comes from whoever holds that key.
func (b *bearer) bound(ctx context.Context, header http.Header, token string, p *transport.Principal) error {
	key := thumbprint(p)
	switch {
	case b.proofs == nil && key != "":
		return errBound
	case b.proofs == nil:
		return nil
	case key == "":
		return &rejection{told: "the token is not bound to a key"}
	}
	at, told := transport.TargetFrom(ctx)
	base := httpURL(b.resource)
	if !told || base == nil {
		return missetf("DPoP needs Resource, and a carrier over HTTP, which says what a request is for")
	}
	// A path that begins with two slashes must not be read as a host.
	asked, err := url.ParseRequestURI(at.URL)
	if err != nil {
		return unavailable("DPoP: the target of the request: %w", err)
	}
	if asked.Host == "" {
		asked.Scheme, asked.Host = base.Scheme, base.Host
	}
	_, err = b.proofs.Check(header.Values("DPoP"), proof.Wanted{Method: at.Method, URLs: []*url.URL{asked, base}, Token: token, Key: key})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, proof.ErrFull):
		return unavailable("%w", err)
	}
	return fmt.Errorf("auth: %w", err)
}
