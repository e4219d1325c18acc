package httpserver_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/transport/internal/hostcall"
	"github.com/kagami-mcp/kagami/transport/internal/httpserver"
)

func TestSecure(t *testing.T) {
	t.Parallel()
	own := &tls.Config{NextProtos: []string{"h2"}} //nolint:gosec // no client connects
	c := httpserver.Config{TLS: own}
	log := hostcall.NewLog(host{}, time.Minute)
	if got := c.Secure(log, "http/1.1"); len(got.NextProtos) != 1 || got.NextProtos[0] != "http/1.1" || own.NextProtos[0] != "h2" {
		t.Errorf("protocols %v, and the program's are %v", got.NextProtos, own.NextProtos)
	}
	if (&httpserver.Config{}).Secure(log, "h2") != nil {
		t.Error("there is a configuration without TLS")
	}
}

// certificate returns a certificate that is valid for life from now on.
func certificate(t *testing.T, life time.Duration) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "mcp.example.com"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(life),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// TestHandshakesThatFail checks that the log has the reason why no client can connect, at most once
// a minute.
func TestHandshakesThatFail(t *testing.T) {
	t.Parallel()
	good, old, away := certificate(t, time.Hour), certificate(t, -time.Minute), errors.New("the file is not readable")
	for name, tt := range map[string]struct {
		config *tls.Config
		want   string // in the warning
	}{
		"good":                     {&tls.Config{Certificates: []tls.Certificate{*good}}, ""},
		"expired":                  {&tls.Config{Certificates: []tls.Certificate{*old}}, "CN=mcp.example.com, on 20"},
		"GetCertificate is good":   {&tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return good, nil }}, ""},
		"GetCertificate fails":     {&tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return nil, away }}, away.Error()},
		"GetCertificate is old":    {&tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return old, nil }}, "expired"},
		"GetConfigForClient fails": {&tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return nil, away }}, away.Error()},
		"GetConfigForClient is good": {&tls.Config{Certificates: []tls.Certificate{*old}, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return &tls.Config{Certificates: []tls.Certificate{*good}, MinVersion: tls.VersionTLS12}, nil
		}}, ""},
		"GetConfigForClient is old": {&tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return &tls.Config{Certificates: []tls.Certificate{*old}, MinVersion: tls.VersionTLS12}, nil
		}}, "expired"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var warned warnings
			tt.config.MinVersion = tls.VersionTLS12
			c := httpserver.Config{TLS: tt.config}
			secure := c.Secure(hostcall.NewLog(&warned, time.Minute), "http/1.1")
			for range 3 {
				if failed := handshake(t.Context(), secure) != nil; failed != (tt.want == away.Error()) {
					t.Errorf("the handshake failed: %t", failed)
				}
			}
			if tt.want == "" && len(warned) > 0 || tt.want != "" && (len(warned) != 1 || !strings.Contains(warned[0], tt.want)) {
				t.Errorf("warned of %q", warned)
			}
		})
	}
}

// handshake returns the error of the server for a client that accepts any certificate.
func handshake(ctx context.Context, secure *tls.Config) error {
	client, server := net.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- tls.Client(client, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx) //nolint:gosec // the test's own server
	}()
	err := tls.Server(server, secure).HandshakeContext(ctx)
	_, _ = client.Close(), server.Close()
	if other := <-done; err == nil {
		return other
	}
	return err
}
