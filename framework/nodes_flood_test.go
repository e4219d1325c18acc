package framework_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestNodesFloodOfOneClient: frames of one client without a receiver do not displace messages between
// the nodes for other clients.
func TestNodesFloodOfOneClient(t *testing.T) {
	for what, flood := range map[string]struct {
		frames int
		reason string
	}{"many frames": {5000, ""}, "large frames": {40, strings.Repeat("x", 900_000)}} {
		t.Run(what, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := &hooks{}
				all := twoHooked(t, h, "x://1", "x://2")
				p, evil := dial(t, all[0], core), dial(t, all[1], core)
				for _, uri := range []string{"x://1", "x://2"} {
					p.call("resources/subscribe", `{"uri":"`+uri+`"}`).ok()
				}
				synctest.Wait()
				slow := time.Second
				h.publish = func() error { time.Sleep(slow); slow = 0; return nil }
				all[1].ResourceUpdated(t.Context(), "x://1") // is being published
				synctest.Wait()
				all[1].ResourceUpdated(t.Context(), "x://2") // waits
				for i := range flood.frames {
					evil.frame(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d,"reason":%q}}`, i, flood.reason))
				}
				time.Sleep(10 * time.Second)
				synctest.Wait()
				if got := fmt.Sprintf("%s", p.notifications("notifications/resources/updated")); !strings.Contains(got, "x://2") {
					t.Errorf("what waited beside the flood: %s", got)
				}
			})
		})
	}
}
