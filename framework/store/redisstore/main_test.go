package redisstore_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/kagami-mcp/kagami/framework/store/redisstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// standstill is how long a machine may stand still: how fast Redis answers is not what is tried.
const standstill = 30 * time.Second

// clientOf has no retries.
func clientOf(t testing.TB, addr string) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{
		Addr: addr, MaxRetries: -1, DialerRetries: 1,
		DialTimeout: standstill, ReadTimeout: standstill, WriteTimeout: standstill, PoolTimeout: standstill,
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
