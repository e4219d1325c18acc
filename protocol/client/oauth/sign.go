package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/url"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// algorithmOf returns the JWS algorithm of a key. named may select another algorithm for the same
// kind of key.
func algorithmOf(key crypto.Signer, named string) (jwt.SigningMethod, error) {
	var usual string
	switch public := key.Public().(type) {
	case *ecdsa.PublicKey:
		if public.Curve != elliptic.P256() {
			return nil, fmt.Errorf("a key of the curve %s, want P-256", public.Curve.Params().Name)
		}
		usual = "ES256"
	case *rsa.PublicKey:
		if public.Size() < 256 {
			return nil, fmt.Errorf("an RSA key of %d bits, want at least 2048", public.Size()*8)
		}
		usual = "RS256"
		if named == "PS256" {
			usual = named
		}
	case ed25519.PublicKey:
		usual = "EdDSA"
	default:
		return nil, fmt.Errorf("a key of type %T, want ECDSA P-256, RSA or Ed25519", public)
	}
	if named != "" && named != usual {
		return nil, fmt.Errorf("the algorithm %q does not fit the key, want %s", named, usual)
	}
	return jwt.GetSigningMethod(usual), nil
}

// sign returns a compact JWS. It supports keys that are only a crypto.Signer, such as keys in
// hardware. golang-jwt accepts only private keys, so sign uses only its encoding of the text.
func sign(key crypto.Signer, algorithm string, header, claims map[string]any) (string, error) {
	method, err := algorithmOf(key, algorithm)
	if err != nil {
		return "", err
	}
	t := jwt.NewWithClaims(method, jwt.MapClaims(claims))
	maps.Copy(t.Header, header)
	text, err := t.SigningString()
	if err != nil {
		return "", err
	}
	signature, err := signature(key, method.Alg(), []byte(text))
	if err != nil {
		return "", fmt.Errorf("signing: %w", err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

func signature(key crypto.Signer, algorithm string, text []byte) ([]byte, error) {
	sum := sha256.Sum256(text)
	switch algorithm {
	case "EdDSA":
		return key.Sign(rand.Reader, text, crypto.Hash(0))
	case "RS256":
		return key.Sign(rand.Reader, sum[:], crypto.SHA256)
	case "PS256":
		return key.Sign(rand.Reader, sum[:], &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: crypto.SHA256})
	}
	der, err := key.Sign(rand.Reader, sum[:], crypto.SHA256)
	if err != nil {
		return nil, err
	}
	var pair struct{ R, S *big.Int } // side by side, 32 bytes each (RFC 7518 §3.4)
	if _, err := asn1.Unmarshal(der, &pair); err != nil {
		return nil, err
	}
	return append(pair.R.FillBytes(make([]byte, 32)), pair.S.FillBytes(make([]byte, 32))...), nil
}

// clientAssertion returns a JWT that authenticates a client (RFC 7523 §2.2). Its audience is the
// issuer, as in RFC 7523bis.
func clientAssertion(key crypto.Signer, creds Credentials, audience string, now time.Time) (string, error) {
	header := map[string]any{}
	if creds.KeyID != "" {
		header["kid"] = creds.KeyID
	}
	return sign(key, creds.Algorithm, header, map[string]any{
		"iss": creds.ID, "sub": creds.ID, "aud": audience, "jti": rand.Text(),
		"iat": now.Unix(), "exp": now.Add(time.Minute).Unix(),
	})
}

func marshalKey(key crypto.Signer) (string, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return base64.StdEncoding.EncodeToString(der), err
}

func unmarshalKey(text string) (crypto.Signer, error) {
	der, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, err
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("a key of type %T cannot sign", key)
	}
	return signer, nil
}

// publicKey returns the JWK of a key (RFC 7517, RFC 8037).
func publicKey(key crypto.Signer) (map[string]string, error) {
	encode := base64.RawURLEncoding.EncodeToString
	switch public := key.Public().(type) {
	case *ecdsa.PublicKey:
		point, err := public.Bytes() // 4, x, y
		if err != nil {
			return nil, err
		}
		return map[string]string{"kty": "EC", "crv": "P-256", "x": encode(point[1:33]), "y": encode(point[33:])}, nil
	case *rsa.PublicKey:
		return map[string]string{"kty": "RSA", "n": encode(public.N.Bytes()), "e": encode(big.NewInt(int64(public.E)).Bytes())}, nil
	case ed25519.PublicKey:
		return map[string]string{"kty": "OKP", "crv": "Ed25519", "x": encode(public)}, nil
	}
	return nil, fmt.Errorf("a key of type %T", key.Public())
}

// thumbprint returns the thumbprint of a key (RFC 7638), which is a digest of the key's required
// members.
func thumbprint(key crypto.Signer) (string, error) {
	members, err := publicKey(key)
	if err != nil {
		return "", err
	}
	text, _ := json.Marshal(members) // Marshal does not fail for strings
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

// proof returns a DPoP proof for one request (RFC 9449 §4.2). token is empty at a token endpoint.
func proof(key crypto.Signer, method string, target *url.URL, token, nonce string, now time.Time) (string, error) {
	jwk, err := publicKey(key)
	if err != nil {
		return "", err
	}
	claims := map[string]any{
		"jti": rand.Text(), "htm": method, "iat": now.Unix(),
		"htu": (&url.URL{Scheme: target.Scheme, Host: target.Host, Path: target.Path, RawPath: target.RawPath}).String(),
	}
	if token != "" {
		sum := sha256.Sum256([]byte(token))
		claims["ath"] = base64.RawURLEncoding.EncodeToString(sum[:])
	}
	if nonce != "" {
		claims["nonce"] = nonce
	}
	return sign(key, "", map[string]any{"typ": "dpop+jwt", "jwk": jwk}, claims)
}
