package storetest

import (
	"fmt"
	"testing"
	"time"
)

// valueEnds waits until the value has expired.
func (c claims) valueEnds(l mortal) {
	c.t.Helper()
	c.clock.end(c.t, l, func() bool {
		_, ok := c.get(l.key)
		return !ok
	})
}

func claimsExpiry(t *testing.T, c claims) {
	c.take("stays", "x")
	l := c.clock.young(c.t, func(key string, life time.Duration) error {
		if _, mine := c.claim(key, "first", life); !mine {
			return fmt.Errorf("the first claim is not mine")
		}
		if got, ok := c.get(key); !ok || got != "first" {
			return fmt.Errorf("it is %q, %v", got, ok)
		}
		return nil
	})
	c.valueEnds(l)
	if c.swap(l.key, "first", "first", long) {
		t.Error("renewed after the end")
	}
	c.wantNothing(l.key)
	c.remove(l.key)
	c.oneWins(l.key)
	c.want("stays", "x")
}

func claimsNotProlonged(_ *testing.T, c claims) {
	c.valueEnds(c.clock.young(c.t, func(key string, life time.Duration) error {
		c.claim(key, "first", life)
		if held, mine := c.claim(key, "second", long); mine || held != "first" {
			return fmt.Errorf("the second claim: held %q, mine %v", held, mine)
		}
		return nil
	}))
}

func claimsProlonged(_ *testing.T, c claims) {
	l := c.clock.young(c.t, func(key string, life time.Duration) error {
		c.claim(key, "first", life)
		if !c.swap(key, "first", "first", long) {
			return fmt.Errorf("not renewed")
		}
		return nil
	})
	c.clock.pass(2 * l.life)
	c.want(l.key, "first")
}

func claimsShortened(_ *testing.T, c claims) {
	l := c.clock.young(c.t, func(key string, life time.Duration) error {
		c.claim(key, "first", long)
		if !c.swap(key, "first", "second", life) {
			return fmt.Errorf("not swapped")
		}
		if held, mine := c.claim(key, "third", long); mine || held != "second" {
			return fmt.Errorf("a claim after the swap: held %q, mine %v", held, mine)
		}
		return nil
	})
	c.valueEnds(l)
	c.take(l.key, "third")
}

func claimsFailedSwap(_ *testing.T, c claims) {
	c.valueEnds(c.clock.young(c.t, func(key string, life time.Duration) error {
		c.claim(key, "first", life)
		if c.swap(key, "another", "second", long) {
			return fmt.Errorf("swapped another value")
		}
		c.removeIf(key, "another")
		return nil
	}))
}

// claimsDeletedLife: a value after a deleted one does not inherit its expiry.
func claimsDeletedLife(_ *testing.T, c claims) {
	l := c.clock.young(c.t, func(key string, life time.Duration) error {
		c.claim(key, "first", life)
		c.remove(key)
		if _, mine := c.claim(key, "second", long); !mine {
			return fmt.Errorf("the claim after the deletion is not mine")
		}
		return nil
	})
	c.clock.pass(2 * l.life)
	c.want(l.key, "second")
}

func claimsCounterExpires(_ *testing.T, c claims) {
	l := c.clock.young(c.t, func(key string, life time.Duration) error {
		c.add(key, 2, life)
		if sum := c.add(key, 3, long); sum != 5 {
			return fmt.Errorf("the sum of 2 and 3 is %d", sum)
		}
		return nil
	})
	c.clock.end(c.t, l, func() bool { return c.add(l.key, 0, long) == 0 })
	c.clock.pass(2 * l.life) // a new life began
	c.wantSum(l.key, 1, 1)
	c.wantSum(l.key, 1, 2)
}
