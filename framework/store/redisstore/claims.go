package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/kagami-mcp/kagami/protocol/claim"
)

var (
	claimClaim  = newScript("claim")
	claimSwap   = newScript("claim_swap")
	claimDelete = newScript("claim_delete")
	counterAdd  = newScript("counter_add")
)

// claims is the claim.Store. There is a string for each value and each counter. Redis compares
// values, so equal values must be stored as equal bytes.
type claims struct{ store *Store }

func claimBinding(name string) []byte { return binding("claim", name) }

// Claim copies the value.
func (c *claims) Claim(ctx context.Context, key string, value []byte, life time.Duration) ([]byte, bool, error) {
	const doing = "claiming"
	if err := checkLife(life); err != nil {
		return nil, false, err
	}
	where := claimBinding(key)
	reply, err := c.store.run(ctx, claimClaim, []string{c.store.claimKey(key)}, c.store.box.same(value, where)[0], millis(life)).Slice()
	if err != nil {
		return nil, false, failedOrFull(claim.ErrFull, doing, err)
	}
	if len(reply) == 0 {
		return nil, true, nil
	}
	held, _ := reply[0].(string)
	there, err := c.store.box.open(held, where)
	if err != nil {
		return nil, false, failed(doing, err)
	}
	return there, false, nil
}

// Swap copies the value.
func (c *claims) Swap(ctx context.Context, key string, old, value []byte, life time.Duration) (bool, error) {
	if err := checkLife(life); err != nil {
		return false, err
	}
	where := claimBinding(key)
	args := []any{c.store.box.same(value, where)[0], millis(life)}
	for _, held := range c.store.box.same(old, where) {
		args = append(args, held)
	}
	swapped, err := c.store.run(ctx, claimSwap, []string{c.store.claimKey(key)}, args...).Int()
	if err != nil {
		return false, failedOrFull(claim.ErrFull, "swapping a claim", err)
	}
	return swapped == 1, nil
}

// Get returns a copy.
func (c *claims) Get(ctx context.Context, key string) ([]byte, error) {
	const doing = "reading a claim"
	if c.store.fault != nil {
		return nil, c.store.fault
	}
	held, err := c.store.client.Get(ctx, c.store.claimKey(key)).Result()
	if errors.Is(err, redis.Nil) {
		return nil, fmt.Errorf("redisstore: %w", claim.ErrNotFound)
	}
	if err != nil {
		return nil, failed(doing, err)
	}
	value, err := c.store.box.open(held, claimBinding(key))
	if err != nil {
		return nil, failed(doing, err)
	}
	return value, nil
}

// Delete compares and deletes in one step.
func (c *claims) Delete(ctx context.Context, key string, old []byte) error {
	var args []any
	if old != nil {
		for _, held := range c.store.box.same(old, claimBinding(key)) {
			args = append(args, held)
		}
	}
	if err := c.store.run(ctx, claimDelete, []string{c.store.claimKey(key)}, args...).Err(); err != nil {
		return failed("deleting a claim", err)
	}
	return nil
}

// Add returns an error if the sum overflows an int64; the counter then keeps its value.
func (c *claims) Add(ctx context.Context, key string, n int64, life time.Duration) (int64, error) {
	if err := checkLife(life); err != nil {
		return 0, err
	}
	sum, err := c.store.run(ctx, counterAdd, []string{c.store.counterKey(key)}, n, millis(life)).Text()
	if err != nil {
		return 0, failedOrFull(claim.ErrFull, "adding to a counter", err)
	}
	total, err := strconv.ParseInt(sum, 10, 64)
	if err != nil {
		return 0, failed("adding to a counter", err)
	}
	return total, nil
}

// checkLife returns an error for a lifetime that Redis would take for none, or for a deletion.
func checkLife(life time.Duration) error {
	if life <= 0 {
		return fmt.Errorf("redisstore: the lifetime of a claim is %v, want more than 0", life)
	}
	return nil
}
