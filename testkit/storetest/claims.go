package storetest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol/claim"
)

// Claims runs the suite for a claim.Store, in parallel. open returns an empty store each time, and
// registers its cleanup with t.Cleanup. The suite uses keys of up to 512 bytes and values of up to
// 1 MiB. Unless there is a [Clock], it waits for short lifetimes to pass.
func Claims(t *testing.T, open func(t testing.TB) claim.Store, opts ...Option) {
	t.Helper()
	set := settle(opts)
	tests := []struct {
		name, rule string
		run        func(t *testing.T, c claims)
	}{
		{"Claim", "Claim stores a value under a key that has none, and otherwise returns the value that is there.", claimsClaim},
		{"Swap", "Swap replaces the value if, and only if, it is the old one.", claimsSwap},
		{"Delete", "Delete forgets the key if its value is the old one; nothing there is no error.", claimsDelete},
		{"Counter", "Add returns the sum; a counter that is not there begins at 0.", claimsCounter},
		{"CounterOverflows", "An Add that would overflow an int64 is an error, and changes nothing.", claimsOverflow},
		{"CountersAndValuesAreApart", "Counters and values do not share keys.", claimsApart},
		{"NoLife", "A life of 0 or less is an error, and changes nothing.", claimsNoLife},
		{"AnyKey", "Keys are any bytes; one that contains another, or looks like it, is another.", claimsAnyKey},
		{"AnyValue", "Values are any bytes.", claimsAnyValue},
		{"NoValue", "A nil value is an empty one, except in Delete, where it stands for any value.", claimsNoValue},
		{"CopiesWhatItTakes", "A store does not keep the caller's slice.", claimsTaken},
		{"CopiesWhatItGives", "A store does not hand out its own slice.", claimsGiven},
		{"RaceOfClaims", "Of concurrent claims of one key exactly one succeeds.", claimsRace},
		{"RaceOfSwaps", "Of concurrent swaps of the same old value exactly one succeeds.", claimsSwapRace},
		{"RaceOfAdds", "No Add is lost, and no two return the same sum.", claimsAddRace},
		{"MutualExclusion", "A claim that its holder deletes is a lock: one holder at a time.", claimsExclusion},
		{"HolderLeaves", "A Claim that is not mine returns the value of the holder, also while the holder deletes it.", claimsLeaving},
		{"Expiry", "A value is there until its life is over, and not afterwards; then one new claim wins.", claimsExpiry},
		{"ClaimDoesNotProlong", "A Claim that finds something leaves its life as it is.", claimsNotProlonged},
		{"SwapProlongs", "Swap restarts the life, also with a longer one.", claimsProlonged},
		{"SwapShortens", "Swap restarts the life, also with a shorter one.", claimsShortened},
		{"FailedSwapDoesNotProlong", "A Swap that fails leaves the life as it is.", claimsFailedSwap},
		{"DeleteEndsTheLife", "A value that follows a deleted one does not inherit its expiry.", claimsDeletedLife},
		{"CounterExpires", "The life of a counter begins with its first Add, and later ones do not prolong it.", claimsCounterExpires},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if set.advance == nil { // all tests share the test's own clock
				t.Parallel()
			}
			told(t, tt.rule)
			tt.run(t, claims{t, open(t), &clock{advance: set.advance}})
		})
	}
}

// long is a lifetime that does not end during a test.
const long = time.Hour

// claims is a store that fails the test if an operation returns an error that the interface does
// not allow. Its methods may be called in any goroutine.
type claims struct {
	t     testing.TB
	store claim.Store
	clock *clock
}

func (c claims) claim(key, value string, life time.Duration) (held string, mine bool) {
	c.t.Helper()
	there, mine, err := c.store.Claim(c.t.Context(), key, []byte(value), life)
	if err != nil {
		c.t.Errorf("Claim(%s): %v", brief(key), err)
	}
	return string(there), mine
}

func (c claims) swap(key, old, value string, life time.Duration) bool {
	c.t.Helper()
	swapped, err := c.store.Swap(c.t.Context(), key, []byte(old), []byte(value), life)
	if err != nil {
		c.t.Errorf("Swap(%s): %v", brief(key), err)
	}
	return swapped
}

// get returns the value, and reports whether there is one.
func (c claims) get(key string) (string, bool) {
	c.t.Helper()
	value, err := c.store.Get(c.t.Context(), key)
	if err != nil && !errors.Is(err, claim.ErrNotFound) {
		c.t.Errorf("Get(%s): %v", brief(key), err)
	}
	return string(value), err == nil
}

// remove deletes the key, regardless of the value.
func (c claims) remove(key string) {
	c.t.Helper()
	if err := c.store.Delete(c.t.Context(), key, nil); err != nil {
		c.t.Errorf("Delete(%s): %v", brief(key), err)
	}
}

func (c claims) removeIf(key, old string) {
	c.t.Helper()
	if err := c.store.Delete(c.t.Context(), key, []byte(old)); err != nil {
		c.t.Errorf("Delete(%s): %v", brief(key), err)
	}
}

func (c claims) add(key string, n int64, life time.Duration) int64 {
	c.t.Helper()
	sum, err := c.store.Add(c.t.Context(), key, n, life)
	if err != nil {
		c.t.Errorf("Add(%s, %d): %v", brief(key), n, err)
	}
	return sum
}

// take claims a key that must be free.
func (c claims) take(key, value string) {
	c.t.Helper()
	if held, mine := c.claim(key, value, long); !mine {
		c.t.Errorf("Claim(%s): it is held, by %s", brief(key), brief(held))
	}
}

func (c claims) want(key, value string) {
	c.t.Helper()
	if got, ok := c.get(key); !ok || got != value {
		c.t.Errorf("Get(%s) = %s, %v; want %s", brief(key), brief(got), ok, brief(value))
	}
}

func (c claims) wantNothing(key string) {
	c.t.Helper()
	if got, ok := c.get(key); ok || got != "" {
		c.t.Errorf("Get(%s) = %s, %v; want nothing", brief(key), brief(got), ok)
	}
}

func (c claims) wantSum(key string, n, sum int64) {
	c.t.Helper()
	if got := c.add(key, n, long); got != sum {
		c.t.Errorf("Add(%s, %d) = %d, want %d", brief(key), n, got, sum)
	}
}

// brief returns s for messages, shortened if it is long.
func brief(s string) string {
	if len(s) <= 40 {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q... (%d bytes)", s[:40], len(s))
}

func claimsClaim(t *testing.T, c claims) {
	c.wantNothing("k")
	c.take("k", "first")
	for range 2 {
		if held, mine := c.claim("k", "second", long); mine || held != "first" {
			t.Errorf("the second claim: held %q, mine %v", held, mine)
		}
	}
	if _, mine := c.claim("k", "first", long); mine {
		t.Error("the same value again also counts as a claim of another node")
	}
	c.want("k", "first")
	c.want("k", "first") // reading removes nothing
	c.take("other", "second")
	c.want("k", "first")
}

func claimsSwap(t *testing.T, c claims) {
	if c.swap("k", "", "x", long) || c.swap("k", "x", "x", long) {
		t.Error("swapped where nothing is")
	}
	c.wantNothing("k")
	c.take("k", "a")
	for _, old := range []string{"", "b", "A", "aa", "a\x00"} {
		if c.swap("k", old, "x", long) {
			t.Errorf("swapped a for x, old was %q", old)
		}
	}
	c.want("k", "a")
	if !c.swap("k", "a", "a", long) { // to renew
		t.Error("not renewed")
	}
	c.want("k", "a")
	if !c.swap("k", "a", "much longer than before", long) || !c.swap("k", "much longer than before", "b", long) {
		t.Error("not swapped")
	}
	if c.swap("k", "a", "c", long) {
		t.Error("swapped by who holds it no longer")
	}
	c.want("k", "b")
	if held, mine := c.claim("k", "c", long); mine || held != "b" {
		t.Errorf("a claim after a swap: held %q, mine %v", held, mine)
	}
}

func claimsDelete(t *testing.T, c claims) {
	c.remove("k")
	c.removeIf("k", "x")
	c.take("k", "a")
	c.take("other", "a")
	for _, old := range []string{"", "b", "A", "aa"} { // empty is different from nil
		c.removeIf("k", old)
	}
	c.want("k", "a")
	c.removeIf("k", "a")
	c.wantNothing("k")
	if c.swap("k", "a", "b", long) {
		t.Error("swapped what was deleted")
	}
	c.take("k", "b")
	c.remove("k")
	c.wantNothing("k")
	c.remove("k")
	c.take("k", "c")
	c.want("k", "c")
	c.want("other", "a")
}

func claimsCounter(_ *testing.T, c claims) {
	sum := int64(0)
	for _, n := range []int64{1, 1, 0, 10, -3, -20, 1 << 40, -1 << 41} {
		sum += n
		c.wantSum("k", n, sum)
	}
	c.wantSum("zero", 0, 0)
	c.wantSum("zero", 1, 1)
	c.wantSum("negative", -7, -7)
	c.wantSum("large", math.MaxInt64, math.MaxInt64) // not converted to a float
	c.wantSum("large", -1, math.MaxInt64-1)
	c.wantSum("small", math.MinInt64, math.MinInt64)
	c.wantSum("small", 1, math.MinInt64+1)
}

func claimsOverflow(t *testing.T, c claims) {
	for _, tt := range []struct{ sum, n int64 }{
		{math.MaxInt64, 1},
		{math.MaxInt64, math.MaxInt64},
		{1, math.MaxInt64},
		{math.MinInt64, -1},
		{math.MinInt64, math.MinInt64},
		{-2, math.MinInt64},
	} {
		key := fmt.Sprint(tt.sum, " and ", tt.n)
		c.wantSum(key, tt.sum, tt.sum)
		if sum, err := c.store.Add(t.Context(), key, tt.n, long); err == nil {
			t.Errorf("Add(%q) = %d, want an error", key, sum)
		}
		c.wantSum(key, 0, tt.sum)
	}
}

func claimsApart(t *testing.T, c claims) {
	c.take("k", "5")
	c.wantSum("k", 1, 1)
	c.want("k", "5")
	c.wantSum("counter", 5, 5)
	c.wantNothing("counter")
	if c.swap("counter", "5", "6", long) {
		t.Error("a counter was swapped")
	}
	c.remove("counter")
	c.wantSum("counter", 1, 6)
	c.take("counter", "x")
	c.wantSum("counter", 1, 7)
	c.remove("k")
	c.wantSum("k", 1, 2)
}

func claimsNoLife(t *testing.T, c claims) {
	ctx := t.Context()
	c.take("held", "x")
	for _, life := range []time.Duration{0, -1, -time.Hour, math.MinInt64} {
		if _, mine, err := c.store.Claim(ctx, "k", []byte("x"), life); err == nil || mine {
			t.Errorf("Claim for %v: mine %v, %v", life, mine, err)
		}
		if swapped, err := c.store.Swap(ctx, "held", []byte("x"), []byte("y"), life); err == nil || swapped {
			t.Errorf("Swap for %v: %v, %v", life, swapped, err)
		}
		if sum, err := c.store.Add(ctx, "k", 1, life); err == nil {
			t.Errorf("Add for %v: %d, no error", life, sum)
		}
	}
	c.wantNothing("k")
	c.want("held", "x")
	c.wantSum("k", 1, 1)
}

// claimsAnyKey uses keys that a store may combine, compare or cut incorrectly.
func claimsAnyKey(_ *testing.T, c claims) {
	all := make([]byte, 512)
	for i := range all {
		all[i] = byte(i)
	}
	keys := []string{
		"a", "a/b", "a:b", "a:b:1", "a\x00b", "a\x00", "a b", "a ", "A", "ä", "a\u0308", "\xff", "\xfe", "\ufffd",
		"*", "a*", "?", "[a]", "..", "../a", "{a}", "a\n", "1", "01", "%61", `"a"`, `a\`,
		string(all), string(all[:511]), string(all[1:]), strings.Repeat("a", 511), strings.Repeat("a", 512),
	}
	for i, key := range keys {
		c.take(key, "of "+key)
		c.wantSum(key, int64(i), int64(i))
	}
	for i, key := range keys {
		c.want(key, "of "+key)
		c.wantSum(key, 1, int64(i)+1)
	}
	for i, key := range keys {
		c.remove(key)
		c.wantNothing(key)
		for _, later := range keys[i+1:] {
			c.want(later, "of "+later)
		}
	}
}

func claimsAnyValue(t *testing.T, c claims) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	large := string(slices.Repeat(all, 1<<12)) // 1 MiB
	values := []string{string(all), "", "null", "0", "\x00", "\xff\xfe", large, large[:1<<20-1] + "x"}
	for i, value := range values {
		key := string(rune('a' + i))
		c.take(key, value)
		c.want(key, value)
		if held, mine := c.claim(key, "x", long); mine || held != value {
			t.Errorf("claimed again: held %s, mine %v", brief(held), mine)
		}
	}
	for i, value := range values {
		next := values[(i+1)%len(values)]
		c.take("swapped", value)
		if c.swap("swapped", next, "x", long) {
			t.Errorf("%s was swapped, old was %s", brief(value), brief(next))
		}
		if !c.swap("swapped", value, next, long) {
			t.Errorf("%s was not swapped for %s", brief(value), brief(next))
		}
		c.removeIf("swapped", value)
		c.want("swapped", next)
		c.removeIf("swapped", next)
		c.wantNothing("swapped")
	}
}

// claimsNoValue: nil is an empty value, except in Delete, where it means any value.
func claimsNoValue(t *testing.T, c claims) {
	ctx := t.Context()
	if _, mine, err := c.store.Claim(ctx, "k", nil, long); !mine || err != nil {
		t.Fatalf("Claim of nil: mine %v, %v", mine, err)
	}
	c.want("k", "")
	if held, mine := c.claim("k", "x", long); mine || held != "" {
		t.Errorf("an empty value does not hold: held %q, mine %v", held, mine)
	}
	if swapped, err := c.store.Swap(ctx, "k", nil, []byte("x"), long); !swapped || err != nil {
		t.Errorf("Swap of nil for x: %v, %v", swapped, err)
	}
	if swapped, err := c.store.Swap(ctx, "k", nil, []byte("y"), long); swapped || err != nil {
		t.Errorf("Swap of x, old was nil: %v, %v", swapped, err)
	}
	if swapped, err := c.store.Swap(ctx, "k", []byte("x"), nil, long); !swapped || err != nil {
		t.Errorf("Swap of x for nil: %v, %v", swapped, err)
	}
	c.want("k", "")
	c.removeIf("k", "")
	c.wantNothing("k")
}

func claimsTaken(t *testing.T, c claims) {
	ctx := t.Context()
	first, second := []byte("first"), []byte("second")
	if _, mine, err := c.store.Claim(ctx, "k", first, long); !mine || err != nil {
		t.Fatalf("Claim: mine %v, %v", mine, err)
	}
	copy(first, "#####")
	c.want("k", "first")
	copy(first, "first")
	if swapped, err := c.store.Swap(ctx, "k", first, second, long); !swapped || err != nil {
		t.Fatalf("Swap: %v, %v", swapped, err)
	}
	copy(first, "#####")
	copy(second, "######")
	c.want("k", "second")
}

func claimsGiven(t *testing.T, c claims) {
	ctx := t.Context()
	c.take("k", "value")
	for range 2 {
		got, err := c.store.Get(ctx, "k")
		if err != nil {
			t.Fatalf("Get: %v", err)
		}
		overwrite(got)
		held, mine, err := c.store.Claim(ctx, "k", []byte("x"), long)
		if err != nil || mine {
			t.Fatalf("Claim: mine %v, %v", mine, err)
		}
		overwrite(held)
	}
	c.want("k", "value")
}

// overwrite also overwrites the capacity beyond the length, which other slices may share.
func overwrite(b []byte) {
	b = b[:cap(b)]
	for i := range b {
		b[i] = '#'
	}
}
