package streamable_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// TestFollow: a stream goes on at another node, to and fro; nothing is lost, nothing
// comes twice, and it ends with its answer.
func TestFollow(t *testing.T) {
	t.Parallel()
	const total = 200
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, resumable, streamable.Config{}, func(_ context.Context, _ string, send func(string) error) (int, string) {
			for i := range total {
				time.Sleep(100 * time.Millisecond)
				if err := send(fmt.Sprintf(`{"n":%d}`, i)); err != nil {
					t.Errorf("event %d: %v", i, err)
				}
			}
			return http.StatusOK, `{"answer":true}`
		})
		defer p.stop()
		var got []event
		r := p.a.do(http.MethodPost, "x")
		for i := 0; ; i++ {
			c := p.a.carry(r, 7).wait()
			got = append(got, c.events()...)
			if got[len(got)-1].data == `{"answer":true}` {
				break
			}
			next := []*site{p.b, p.a, p.b}[i%3]
			r = next.do(http.MethodGet, "", "Last-Event-ID: "+got[len(got)-1].id)
		}
		if len(got) != total+1 {
			t.Fatalf("%d events", len(got))
		}
		for i, e := range got[:total] {
			if e.data != fmt.Sprintf(`{"n":%d}`, i) {
				t.Fatalf("event %d is %s", i, e.data)
			}
		}
		for _, s := range []*site{p.a, p.b} { // afterwards, without the mark of the end
			c := s.carry(s.do(http.MethodGet, "", "Last-Event-ID: "+got[total-2].id), -1).wait()
			if rest := c.events(); len(rest) != 2 || rest[0] != got[total-1] || rest[1] != got[total] {
				t.Errorf("afterwards: %v", rest)
			}
			if text := c.text(); strings.Contains(text, "data: \n") {
				t.Errorf("the mark was sent: %q", text)
			}
		}
		last := p.b.carry(p.b.do(http.MethodGet, "", "Last-Event-ID: "+got[total].id), -1).wait()
		if rest := last.events(); len(rest) != 0 {
			t.Errorf("after the last: %v", rest)
		}
	})
}

// TestPollOnNodes: a client that was sent away finds the answer at another node.
func TestPollOnNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, polling, streamable.Config{}, func(context.Context, string, func(string) error) (int, string) {
			time.Sleep(time.Minute)
			return http.StatusOK, `{"a":1}`
		})
		defer p.stop()
		c := p.a.carry(p.a.do(http.MethodPost, "x"), -1)
		synctest.Wait()
		c.cancel()
		c.wait()
		start := time.Now()
		got := p.b.carry(p.b.do(http.MethodGet, "", "Last-Event-ID: "+c.events()[0].id), -1).wait()
		if all := got.events(); len(all) != 1 || all[0].data != `{"a":1}` {
			t.Errorf("got %v", all)
		}
		if took := time.Since(start); took < time.Minute-time.Second || took > time.Minute+time.Second {
			t.Errorf("it came after %v", took)
		}
		if beats := strings.Count(got.text(), ": \n\n"); beats < 3 {
			t.Errorf("%d heartbeats in a minute", beats)
		}
	})
}

// TestRareHeartbeats: a Heartbeat of many years means no heartbeats, also at another node.
func TestRareHeartbeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, polling, streamable.Config{Heartbeat: 50 * 365 * 24 * time.Hour}, func(context.Context, string, func(string) error) (int, string) {
			time.Sleep(time.Second)
			return http.StatusOK, `{"a":1}`
		})
		defer p.stop()
		c := p.a.carry(p.a.do(http.MethodPost, "x"), -1)
		synctest.Wait()
		c.cancel()
		c.wait()
		got := p.b.carry(p.b.do(http.MethodGet, "", "Last-Event-ID: "+c.events()[0].id), -1).wait()
		if beats := strings.Count(got.text(), ": \n\n"); len(got.events()) != 1 || beats > 1 {
			t.Errorf("%d heartbeats, and the events %v", beats, got.events())
		}
	})
}

// TestPollWhileStopping: a node that stops gives accepted calls their time, and their clients
// find the answers at another node until then.
func TestPollWhileStopping(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, polling, streamable.Config{}, func(context.Context, string, func(string) error) (int, string) {
			time.Sleep(20 * time.Second)
			return http.StatusOK, `{"a":1}`
		})
		defer p.b.stop()
		c := p.a.carry(p.a.do(http.MethodPost, "x"), -1)
		synctest.Wait()
		c.cancel()
		c.wait()
		close(p.closing)
		time.Sleep(time.Second)
		stopped := make(chan struct{})
		go func() { defer close(stopped); p.a.stop() }()
		got := p.b.carry(p.b.do(http.MethodGet, "", "Last-Event-ID: "+c.events()[0].id), -1).wait().events()
		if len(got) != 1 || got[0].data != `{"a":1}` {
			t.Errorf("got %v", got)
		}
		<-stopped
	})
}

// TestFollowEnds: where the writer is silent for ever, with the session, with the node, with the
// client, and with the writer.
func TestFollowEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(p *pair, c *connection){
		"silence": func(*pair, *connection) {},
		"DELETE":  func(p *pair, _ *connection) { p.a.do(http.MethodDelete, "") },
		"node":    func(p *pair, _ *connection) { p.b.stop() },
		"client":  func(_ *pair, c *connection) { c.cancel() },
		"death":   func(p *pair, _ *connection) { p.store.dead.Store(true) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const idle = time.Hour
				p := newPair(t, polling, streamable.Config{SessionIdle: idle}, func(ctx context.Context, _ string, _ func(string) error) (int, string) {
					<-ctx.Done()
					return http.StatusOK, `{"late":true}`
				})
				defer p.b.stop()
				defer p.a.do(http.MethodDelete, "") // what hangs ends, so that a can stop
				first := p.a.carry(p.a.do(http.MethodPost, "x"), 1).wait()
				c := p.b.carry(p.b.do(http.MethodGet, "", "Last-Event-ID: "+first.events()[0].id), -1)
				start := time.Now()
				time.Sleep(time.Minute)
				end(p, c)
				c.wait()
				took := time.Since(start)
				if name == "silence" && (took < idle || took > idle+time.Second) || name != "silence" && took > time.Minute+10*time.Second {
					t.Errorf("it ended after %v", took)
				}
				p.a.do(http.MethodDelete, "")
				p.a.stop()
			})
		})
	}
}

// TestManyWriters: streams of several nodes are kept apart, and stay when the node that
// wrote them does not need the session any more.
func TestManyWriters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, resumable, streamable.Config{SessionIdle: time.Hour}, func(_ context.Context, method string, send func(string) error) (int, string) {
			_ = send(`{"n":1}`)
			return http.StatusOK, fmt.Sprintf("%q", method)
		})
		defer p.stop()
		ofA := p.a.carry(p.a.do(http.MethodPost, "x"), -1).wait().events()
		ofB := p.b.carry(p.b.do(http.MethodPost, "y"), -1).wait().events()
		for range 30 { // a forgets it
			time.Sleep(5 * time.Minute)
			p.b.post("get")
		}
		for _, s := range []*site{p.b, p.a} {
			for _, want := range [][]event{ofA, ofB} {
				got := s.carry(s.do(http.MethodGet, "", "Last-Event-ID: "+want[0].id), -1).wait().events()
				if len(got) != 1 || got[0] != want[1] {
					t.Errorf("got %v, want %v", got, want[1])
				}
			}
		}
	})
}

// TestNothingToFollow: what no node has is refused as on one.
func TestNothingToFollow(t *testing.T) {
	t.Parallel()
	p := newPair(t, resumable, streamable.Config{StreamDelay: time.Minute}, func(_ context.Context, _ string, send func(string) error) (int, string) {
		_ = send(`{"n":1}`)
		return http.StatusOK, `{"a":1}`
	})
	defer p.stop()
	id := p.a.carry(p.a.do(http.MethodPost, "x"), -1).wait().events()[0].id
	tag, _, _ := strings.Cut(id, ".")
	for _, bad := range []string{"garbage", tag + ".99.0", tag + ".99.1", tag + ".0.99", id + "9"} {
		if r := p.b.do(http.MethodGet, "", "Last-Event-ID: "+bad); r.Status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", bad, r.Status, r.Body)
		}
	}
}

// TestHome: one node delivers what belongs to no exchange: the one where the client
// listens.
func TestHome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, polling, streamable.Config{StreamDelay: time.Minute}, answers)
		defer p.stop()
		tell := func(what string) { // as every engine does that hears of a change
			p.a.post("tell " + what)
			p.b.post("tell " + what)
			synctest.Wait()
		}
		expect := func(c *connection, step string, want ...string) {
			t.Helper()
			synctest.Wait()
			var got []string
			for _, e := range c.events() {
				if e.data != "" {
					got = append(got, e.data)
				}
			}
			if strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("%s: got %q, want %q", step, got, want)
			}
		}
		tell("1") // a is the home, and no client listens
		ofA := p.a.carry(p.a.do(http.MethodGet, ""), -1)
		tell("2")
		expect(ofA, "at the first node", "1", "2")

		ofB := p.b.carry(p.b.do(http.MethodGet, ""), -1)
		tell("3")
		expect(ofB, "at the other", "3")
		expect(ofA.wait(), "at the first, which the client has left", "1", "2")
		seen := ofB.events()
		ofB.cancel()
		ofB.wait()
		tell("4") // b is the home, and no client listens

		again := p.a.carry(p.a.do(http.MethodGet, "", "Last-Event-ID: "+seen[len(seen)-1].id), -1)
		tell("5")
		expect(again, "resumed at the first", "4", "5")

		fresh := p.b.carry(p.b.do(http.MethodGet, ""), -1)
		primed := fresh
		synctest.Wait()
		tell("6")
		expect(fresh, "afresh at the other", "6")
		fresh.cancel()
		fresh.wait()
		tell("7")
		last := p.b.carry(p.b.do(http.MethodGet, ""), -1)
		expect(last, "what nobody has seen", "7")
		back := p.a.carry(p.a.do(http.MethodGet, "", "Last-Event-ID: "+primed.events()[0].id), -1)
		expect(back, "after the priming event of the other", "6", "7")
		for _, c := range []*connection{again, last, back} {
			c.cancel()
			c.wait()
		}
	})
}
