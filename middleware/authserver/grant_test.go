package authserver

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kagami-mcp/kagami/middleware/internal/proof"
)

// The model: a grant is alive until a code or an old refresh token is used again. The newest token
// rotates, the one before it gets the same answer within the grace, and any other ends the grant, from any
// client. A good one of another client changes nothing.
func TestGrant_Model(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		verifier := strings.Repeat("v", 43)
		const grace, idle, life = 10 * time.Second, time.Hour, 5 * time.Hour
		now := time.Unix(1_800_000_000, 0)
		began := now
		handle := newHandle()
		code := newSecret(handle)
		g := &grant{Client: "c", Resource: "r", Until: now.Add(life), Code: digest(code), CodeUntil: now.Add(time.Minute), Redirect: "u", Challenge: proof.Digest(verifier)}
		var tokens []string // all that were issued, the newest last
		var rotated time.Time
		redeemed, dead := false, false
		issue := func() {
			tokens, rotated = append(tokens, newSecret(handle)), now
			g.rotate(now, tokens[len(tokens)-1], "")
		}
		t.Repeat(map[string]func(t *rapid.T){
			"wait": func(t *rapid.T) {
				now = now.Add(rapid.SampledFrom([]time.Duration{time.Millisecond, 9 * time.Second, 11 * time.Second, time.Minute, life}).Draw(t, "wait"))
			},
			"redeem": func(t *rapid.T) {
				r := redemption{code: code, client: "c", redirect: "u", verifier: verifier}
				wrong := rapid.SampledFrom([]string{"", "", "client", "redirect", "verifier", "resource", "code"}).Draw(t, "wrong")
				want := error(nil)
				switch {
				case wrong == "code":
					r.code, want = newSecret(handle), errNoGrant
				case dead:
					want = errDead
				case redeemed:
					want, dead = errReplayed, true
				case now.Sub(began) >= time.Minute:
					want = errExpired
				}
				switch wrong {
				case "client":
					r.client = "d"
				case "redirect":
					r.redirect = "w"
				case "verifier":
					r.verifier = ""
				case "resource":
					r.resource = "s"
				}
				if want == nil && wrong != "" {
					want = errForeign
				}
				if err := g.redeem(now, r); !errors.Is(err, want) {
					t.Fatalf("redeem with wrong %q: %v, want %v", wrong, err, want)
				}
				if want == nil {
					redeemed = true
					issue()
				}
			},
			"refresh": func(t *rapid.T) {
				if len(tokens) == 0 {
					t.Skip("no token yet")
				}
				n := rapid.IntRange(0, len(tokens)-1).Draw(t, "token")
				client := rapid.SampledFrom([]string{"c", "c", "c", "d"}).Draw(t, "client")
				want, again := error(nil), false
				switch {
				case dead:
					want = errDead
				case n < len(tokens)-1 && (n < len(tokens)-2 || now.Sub(rotated) > grace):
					want, dead = errReplayed, true
				case client != "c":
					want = errForeign
				case now.Sub(began) >= life:
					want = errExpired
				case n == len(tokens)-2:
					again = true
				}
				got, err := g.refresh(now, tokens[n], client, "", "", grace)
				if !errors.Is(err, want) || got != again {
					t.Fatalf("token %d of %d: %v, %v; want %v, %v", n, len(tokens), got, err, again, want)
				}
				if want == nil && !again {
					issue()
				}
			},
			"": func(t *rapid.T) {
				if g.Dead != dead || g.Redeemed != redeemed {
					t.Fatalf("dead %v, redeemed %v; want %v, %v", g.Dead, g.Redeemed, dead, redeemed)
				}
				if until := g.expires(idle); until.After(began.Add(life)) || redeemed && until.Before(earlier(rotated.Add(idle), began.Add(life))) {
					t.Fatalf("the record expires at %v", until)
				}
			},
		})
	})
}

func earlier(a, b time.Time) time.Time { return slices.MinFunc([]time.Time{a, b}, time.Time.Compare) }
