package redisstore_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/kagami-mcp/kagami/framework/store/redisstore"
)

// TestPrefixWithBraces is refused before anything is kept: the braces would put all keys of the
// tasks of a Cluster into other slots.
func TestPrefixWithBraces(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"{", "}", "{shop}:", "shop:{", "a}b"} {
		client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}) // never reached
		s := redisstore.New(client, redisstore.Prefix(prefix))
		_, _, err := s.Claims().Claim(context.Background(), "x", nil, time.Minute)
		if err == nil || !strings.Contains(err.Error(), "braces") {
			t.Errorf("%q: %v", prefix, err)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}
}
