package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// jwksURL returns the URL of an issuer's keys. It tries the metadata in the order of 2025-11-25
// basic/authorization "Authorization Server Metadata Discovery". RFC 8414 is first, then OpenID
// Connect, which appends its path to the issuer's path.
func jwksURL(ctx context.Context, c *http.Client, issuer string) (string, error) {
	u := httpURL(issuer)
	if u == nil {
		return "", fmt.Errorf("the issuer %q is not an absolute URL", issuer)
	}
	origin, path := u.Scheme+"://"+u.Host, strings.TrimSuffix(u.EscapedPath(), "/")
	places := []string{
		origin + "/.well-known/oauth-authorization-server" + path,
		origin + "/.well-known/openid-configuration" + path,
	}
	if path != "" {
		places = append(places, origin+path+"/.well-known/openid-configuration")
	}
	var failed error
	for _, place := range places {
		found, err := jwksAt(ctx, c, place, issuer)
		if err == nil {
			return found, nil
		}
		failed = errors.Join(failed, err)
	}
	return "", failed
}

// jwksAt reads one metadata document. The document must be the issuer's (RFC 8414 §3.3), and must
// not lead from https to http.
func jwksAt(ctx context.Context, c *http.Client, place, issuer string) (string, error) {
	body, err := get(ctx, c, place)
	if err != nil {
		return "", err
	}
	var document struct {
		Issuer string `json:"issuer"`
		JWKS   string `json:"jwks_uri"`
	}
	if err := json.Unmarshal(body, &document); err != nil {
		return "", fmt.Errorf("reading %s: %w", place, err)
	}
	keys := httpURL(document.JWKS)
	switch {
	case document.Issuer != issuer:
		return "", fmt.Errorf("%s is of another issuer: %q", place, document.Issuer)
	case keys == nil:
		return "", fmt.Errorf("%s names no jwks_uri", place)
	case !strings.EqualFold(keys.Scheme, "https") && strings.HasPrefix(strings.ToLower(issuer), "https:"):
		return "", fmt.Errorf("%s: the jwks_uri is not https", place)
	}
	return document.JWKS, nil
}
