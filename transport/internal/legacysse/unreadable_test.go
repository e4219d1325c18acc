package legacysse_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/transport/internal/legacysse"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// TestUnreadableFrame: a frame of a newer program, which this one cannot read, is skipped, and no other frame is
// taken twice.
func TestUnreadableFrame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := memory.New()
		log := &named{Store: all.Events()}
		node := func() *legacysse.Endpoint {
			return legacysse.New(&server{hostFunc: echo, sessions: all.Sessions(), events: log, changes: all.Changes()}, streamable.Config{})
		}
		a, b := node(), node()
		c := carried(t, ask(t, a, legacysse.Stream, "", "x:1", ""))
		synctest.Wait()
		for n := range 3 {
			ask(t, b, legacysse.Messages, c.query, "x:1", fmt.Sprint(n))
			time.Sleep(5 * time.Second)
			if n == 0 {
				if _, err := log.Append(t.Context(), log.name, []byte(`{"remote":{"address":"x"},"name":"N"}`+"\nframe")); err != nil {
					t.Fatal(err)
				}
				time.Sleep(3 * time.Minute) // two looks
			}
		}
		synctest.Wait()
		var got []string
		for len(c.parts) > 0 {
			if part := <-c.parts; strings.HasPrefix(part, "event: message") {
				got = append(got, part)
			}
		}
		if len(got) != 3 {
			t.Errorf("took %q, want 3 frames", got)
		}
		c.leave()
		<-c.over
		stop(t, a, b)
	})
}
