package redisstore_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/kagami-mcp/kagami/framework/store/redisstore"
)

// TestCloseWaitsForSubscribers: Close returns after the goroutine that reads for a subscriber has ended,
// so that a program may then close its client.
func TestCloseWaitsForSubscribers(t *testing.T) {
	t.Parallel()
	dialing, refused := make(chan struct{}), make(chan struct{})
	dials := sync.OnceFunc(func() { close(dialing) })
	client := redis.NewClient(&redis.Options{MaxRetries: -1, DialerRetries: 1, Dialer: func(context.Context, string, string) (net.Conn, error) {
		dials()
		<-refused
		return nil, errors.New("refused")
	}})
	defer func() { _ = client.Close() }()
	s, ended, closed := redisstore.New(client), make(chan error, 1), make(chan error, 1)
	go func() { ended <- s.Changes().Subscribe(t.Context(), func([]byte) {}) }()
	<-dialing
	go func() { closed <- s.Close() }()
	select {
	case err := <-closed:
		t.Fatalf("Close returned while a connection was being opened: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	close(refused)
	if err := <-ended; !errors.Is(err, redisstore.ErrClosed) {
		t.Errorf("Subscribe: %v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// TestSubscribeGivesUp checks that Subscribe returns the error after a minute if Redis never
// accepts the subscription. A server logs the error. Otherwise messages of other nodes would never
// arrive, without any sign in the log.
func TestSubscribeGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("NOPERM")
		client := redis.NewClient(&redis.Options{
			Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1,
			Dialer: func(context.Context, string, string) (net.Conn, error) { return nil, refused },
		})
		s := storeWith(t, client)
		began := time.Now()
		err := s.Changes().Subscribe(t.Context(), func([]byte) { t.Error("a message came") })
		if d := time.Since(began); !errors.Is(err, refused) || d < time.Minute || d > time.Minute+5*time.Second {
			t.Errorf("after %s: %v", d, err)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
}
