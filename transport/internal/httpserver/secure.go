package httpserver

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
	"time"

	"github.com/kagami-mcp/kagami/transport/internal/hostcall"
)

// Secure returns a TLS configuration with exactly these protocols, or nil if the Config has no TLS.
// Clients do not report to the server why a handshake failed, so the configuration logs handshakes
// that cannot succeed.
func (c *Config) Secure(logs *hostcall.Log, protocols ...string) *tls.Config {
	if c.TLS == nil {
		return nil
	}
	secure := c.TLS.Clone()
	secure.NextProtos = slices.Clone(protocols)
	certificate, configuration, own := secure.GetCertificate, secure.GetConfigForClient, leafCertificates(secure.Certificates)
	if certificate != nil {
		secure.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			found, err := certificate(hello)
			switch {
			case err != nil:
				warnOfTLS(logs, err)
			case found != nil:
				warnOfExpired(logs, leafCertificates([]tls.Certificate{*found}))
			}
			return found, err //nolint:wrapcheck // the error of the program's function
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
			warnOfExpired(logs, leafCertificates(found.Certificates))
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

// warnOfExpired logs a warning for expired certificates, because clients refuse them.
func warnOfExpired(logs *hostcall.Log, certificates []*x509.Certificate) {
	for _, c := range certificates {
		if time.Now().After(c.NotAfter) {
			logs.Warn("clients cannot connect: the TLS certificate has expired", c.Subject.String()+", on "+c.NotAfter.Format(time.RFC3339))
		}
	}
}

// leafCertificates returns the server's own certificates, without chains. It skips certificates that cannot
// be parsed.
func leafCertificates(certificates []tls.Certificate) (all []*x509.Certificate) {
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
