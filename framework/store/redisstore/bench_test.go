package redisstore_test

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/kagami-mcp/kagami/framework/internal/redisserver"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/task"
	"github.com/kagami-mcp/kagami/testkit/storetest"
)

// working is a task of a call of 1 KiB.
func working(id string) task.Record {
	now := time.Now()
	return task.Record{
		ID: id, Owner: "x", Status: protocol.TaskWorking, Created: now, Updated: now, TTL: time.Hour, Call: make([]byte, 1024),
	}
}

// lifeOf is what a task costs the store from its creation to its result.
func lifeOf(ctx context.Context, s storetest.QueueStore, r task.Record) error {
	if err := s.Create(ctx, r); err != nil {
		return err
	}
	lease, err := s.Take(ctx)
	if err != nil {
		return err
	}
	r.Version = 1
	if r, err = task.Next(r, task.Event{Kind: task.Complete, Result: []byte(`{}`)}, time.Now()); err != nil {
		return err
	}
	if err := s.Update(ctx, r); err != nil {
		return err
	}
	return s.Release(ctx, lease)
}

// plainLife is the same with nothing but a stream: the payload, and an acknowledgement.
func plainLife(ctx context.Context, c *redis.Client) error {
	if err := c.XAdd(ctx, &redis.XAddArgs{Stream: "plain", Values: []any{"p", make([]byte, 1024)}}).Err(); err != nil {
		return err
	}
	streams, err := c.XReadGroup(ctx, &redis.XReadGroupArgs{Group: "w", Consumer: "me", Streams: []string{"plain", ">"}, Count: 1}).Result()
	if err != nil {
		return err
	}
	return c.XAck(ctx, "plain", "w", streams[0].Messages[0].ID).Err()
}

// BenchmarkLife is both in turn, so that a disk or a machine that is busy is so for both:
// the ratio of the medians is what a record, and a line that it is in step with, cost above
// a stream.
func BenchmarkLife(b *testing.B) {
	for name, args := range map[string][]string{"fsync": nil, "memory": {"--appendonly", "no"}} {
		b.Run(name, func(b *testing.B) {
			client := clientOf(b, redisserver.Start(b, args...).Addr())
			s := queueOf(storeWith(b, client))
			if err := client.XGroupCreateMkStream(b.Context(), "plain", "w", "0").Err(); err != nil {
				b.Fatal(err)
			}
			var ours, theirs []time.Duration
			for i := 0; b.Loop(); i++ {
				began := time.Now()
				if err := lifeOf(b.Context(), s, working(strconv.Itoa(i))); err != nil {
					b.Fatal(err)
				}
				between := time.Now()
				if err := plainLife(b.Context(), client); err != nil {
					b.Fatal(err)
				}
				ours, theirs = append(ours, between.Sub(began)), append(theirs, time.Since(between))
			}
			slices.Sort(ours)
			slices.Sort(theirs)
			store, stream := ours[len(ours)/2], theirs[len(theirs)/2]
			b.ReportMetric(float64(store.Microseconds()), "µs/store")
			b.ReportMetric(float64(stream.Microseconds()), "µs/stream")
			b.ReportMetric(float64(store)/float64(stream), "ratio")
		})
	}
}
