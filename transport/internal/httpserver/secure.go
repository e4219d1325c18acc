package httpserver

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
	"time"

	"github.com/kagami-mcp/kagami/transport/internal/hostcall"
)

// Secure returns a TLS configuration with exactly these protocols, or nil without TLS. Clients see a
// handshake fail and do not tell the server why, so it warns of handshakes that cannot succeed.
func (c *Config) Secure(logs *hostcall.Log, protocols ...string) *tls.Config {
	if c.TLS == nil {
		return nil
	}
	secure := c.TLS.Clone()
	secure.NextProtos = slices.Clone(protocols)
	certificate, configuration, own := secure.GetCertificate, secure.GetConfigForClient, leaves(secure.Certificates)
	if certificate != nil {
		secure.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			found, err := certificate(hello)
			switch {
			case err != nil:
				warnOfTLS(logs, err)
			case found != nil:
				warnOfExpired(logs, leaves([]tls.Certificate{*found}))
			}
			return found, err //nolint:wrapcheck // it is the program's
		}
	}
	secure.GetConfigForClient = func(hello *tls.ClientHelloInfo) (found *tls.Config, err error) {
		if configuration != nil {
			found, err = configuration(hello)
		}
		switch {
		case err != nil:
			warnOfTLS(logs, err)
		case found != nil: // its certificates replace own
			warnOfExpired(logs, leaves(found.Certificates))
		default:
			warnOfExpired(logs, own)
		}
		return found, err
	}
	return secure
}

func warnOfTLS(logs *hostcall.Log, err error) {
	logs.Warn("a client could not connect: the TLS configuration has no certificate for it", err.Error())
}

// warnOfExpired warns of certificates that clients refuse.
func warnOfExpired(logs *hostcall.Log, certificates []*x509.Certificate) {
	for _, c := range certificates {
		if time.Now().After(c.NotAfter) {
			logs.Warn("clients cannot connect: the TLS certificate has expired", c.Subject.String()+", on "+c.NotAfter.Format(time.RFC3339))
		}
	}
}

// leaves returns the certificates of the server itself, without those that cannot be parsed.
func leaves(certificates []tls.Certificate) (all []*x509.Certificate) {
	for _, c := range certificates {
		leaf := c.Leaf
		if leaf == nil && len(c.Certificate) > 0 {
			leaf, _ = x509.ParseCertificate(c.Certificate[0])
		}
		if leaf != nil {
			all = append(all, leaf)
		}
	}
	return all
}
