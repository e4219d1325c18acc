package redisstore_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/kagami-mcp/kagami/framework/store/redisstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long is waited for what comes, on machines that stand still for seconds:
// how fast Redis answers is not what is tried.
const patience = 45 * time.Second

// clientOf has no retries.
func clientOf(t testing.TB, addr string) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{
		Addr: addr, MaxRetries: -1, DialerRetries: 1,
		DialTimeout: patience, ReadTimeout: patience, WriteTimeout: patience, PoolTimeout: patience,
	})
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

// storeOn is one with a client of its own, which ends with the test.
func storeOn(t testing.TB, addr string, opts ...redisstore.Option) *redisstore.Store {
	t.Helper()
	return storeWith(t, clientOf(t, addr), opts...)
}

func storeWith(t testing.TB, client redis.UniversalClient, opts ...redisstore.Option) *redisstore.Store {
	t.Helper()
	s := redisstore.New(client, opts...)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
