package redisstore_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/kagami-mcp/kagami/framework/internal/redisserver"
	"github.com/kagami-mcp/kagami/framework/store/redisstore"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/protocol/task"
	"github.com/kagami-mcp/kagami/testkit/storetest"
)

// The servers of this file are reached in the ways that a program's own client knows.

// TestTLS: a server that takes nothing else, and whose authority the client has to know.
func TestTLS(t *testing.T) {
	t.Parallel()
	files, pool := certificate(t)
	server := redisserver.Start(t, "--port", "0", "--tls-port", redisserver.PortArg, "--tls-auth-clients", "no",
		"--tls-cert-file", files.cert, "--tls-key-file", files.key, "--tls-ca-cert-file", files.cert)
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), TLSConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}})
	t.Cleanup(func() { _ = client.Close() })
	storetest.Sessions(t, func(t testing.TB) session.Store {
		return redisstore.New(client, redisstore.Prefix(t.Name())).Sessions()
	})
	stranger := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1, TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12}})
	t.Cleanup(func() { _ = stranger.Close() })
	if err := redisstore.New(stranger).Sessions().Create(t.Context(), session.Record{ID: "k"}); err == nil {
		t.Error("a certificate that nobody vouches for is taken")
	}
}

type pair struct{ cert, key string }

// certificate is one for 127.0.0.1 that signs itself.
func certificate(t *testing.T) (pair, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files := pair{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	for name, bytes := range map[string][]byte{files.cert: text, files.key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})} {
		if err := os.WriteFile(name, bytes, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return files, pool
}

// TestSentinel: the master dies, Sentinel makes its replica one, and the store goes on
// with what was replicated.
func TestSentinel(t *testing.T) {
	t.Parallel()
	master := redisserver.Start(t)
	host, port, _ := net.SplitHostPort(master.Addr())
	replica := redisserver.Start(t, "--replicaof", host+" "+port)
	config := filepath.Join(t.TempDir(), "sentinel.conf")
	text := fmt.Sprintf("sentinel monitor films %s %s 1\nsentinel down-after-milliseconds films 500\nsentinel failover-timeout films 5000\n", host, port)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	sentinel := redisserver.Sentinel(t, config)
	watch := redis.NewSentinelClient(&redis.Options{Addr: sentinel.Addr()})
	t.Cleanup(func() { _ = watch.Close() })
	await(t, func() (bool, string) {
		replicas, err := watch.Replicas(t.Context(), "films").Result()
		return len(replicas) == 1 && replicas[0]["master-link-status"] == "ok", fmt.Sprint(replicas, err)
	})

	client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "films", SentinelAddrs: []string{sentinel.Addr()}})
	t.Cleanup(func() { _ = client.Close() })
	tasks := redisstore.New(client).Tasks()
	await(t, func() (bool, string) { // to a busy Sentinel it may seem that the master is gone
		err := tasks.Create(t.Context(), task.Record{ID: "film", Status: "working", TTL: time.Hour, Created: time.Now(), Updated: time.Now()})
		return err == nil || errors.Is(err, task.ErrExists), fmt.Sprint(err)
	})
	other := clientOf(t, replica.Addr())
	await(t, func() (bool, string) {
		n, err := other.DBSize(t.Context()).Result()
		return n >= client.DBSize(t.Context()).Val(), fmt.Sprint(n, err)
	})
	master.Stop()
	await(t, func() (bool, string) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r, err := tasks.Get(ctx, "film")
		if err == nil {
			r.Message = "goes on"
			err = tasks.Update(ctx, r)
		}
		return err == nil, fmt.Sprint(err)
	})
}
