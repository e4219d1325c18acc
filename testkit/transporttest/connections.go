package transporttest

import (
	"context"
	"testing"

	"github.com/kagami-mcp/kagami/transport"
)

// Connections tests a carrier that serves several clients at once. open is as for [Stop]. dial is called
// once for each client. [Suite] tests only one connection of a carrier.
func Connections(t *testing.T, open func(t testing.TB) (carrier transport.Transport, dial func(ctx context.Context) (transport.Conn, error))) {
	t.Helper()
	connections(t, func(t testing.TB) *served { return serve(t, open, shortGrace) })
}

func connections(t *testing.T, begin func(t testing.TB) *served) {
	t.Helper()
	for _, test := range []struct {
		name, rule string
		run        func(t *testing.T, first, second *client)
	}{
		{"OwnConnection", "Each connection of a carrier has a Connection of its own.", testOwnConnection},
		{"OwnFrames", "A connection gets its own frames only, in exchanges and outside of them.", testOwnFrames},
		{"EndsAlone", "The end of a connection ends nothing of the other connections.", testEndsAlone},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			told(t, test.rule)
			s := begin(t)
			s.host.concurrent = true // frames of two connections may be accepted at the same time
			first, second := s.client(), s.client()
			test.run(t, first, second)
			first.finish()
			second.finish()
			s.stop()
			s.wait()
		})
	}
}

func testOwnConnection(t *testing.T, first, second *client) {
	for id := range 3 {
		first.echo(1+id, "a")
		second.echo(101+id, "b")
	}
	if first.host.connection(t, 1, 2, 3) == first.host.connection(t, 101, 102, 103) {
		t.Error("two connections have the same Connection")
	}
}

// testOwnFrames sends both clients many notifications at once. Then it sends the second client a
// frame outside of an exchange. The first client must get nothing before its next answer.
func testOwnFrames(t *testing.T, first, second *client) {
	first.send(1, "many", script{Count: 50})
	second.send(101, "many", script{Count: 50})
	first.own(1)
	second.own(101)
	second.send(102, "unsolicited", script{})
	early := second.own(102)
	second.host.sent(t)
	first.send(2, "echo", script{})
	first.own(2)
	if early == 0 && second.next().Params.ID != 102 {
		t.Error("the frame that belongs to no exchange did not come")
	}
}

// own reads the frames of one exchange up to its answer, and returns how many came before it.
func (c *client) own(id int) (notes int) {
	c.t.Helper()
	for ; ; notes++ {
		r := c.next()
		if r.ID != id && r.Params.ID != id {
			c.t.Fatalf("got %+v, which is for another connection", r)
		}
		if r.Method == "" {
			return notes
		}
	}
}

func testEndsAlone(t *testing.T, first, second *client) {
	h := first.host
	first.send(1, "block", script{})
	second.send(101, "block", script{})
	for range 2 {
		within(t, "the exchanges to begin", h.holding)
	}
	gone, other := make(chan struct{}), make(chan struct{})
	h.connection(t, 1).OnClose(func() { close(gone) })
	h.connection(t, 101).OnClose(func() { close(other) })
	first.hangUp()
	_ = within(t, "the exchange to be cancelled", h.cancelled)
	within(t, "Connection.OnClose after Close", gone)
	second.echo(102, "still there")
	select {
	case <-other:
		t.Error("OnClose was called while the connection lasts")
	case cause := <-h.cancelled:
		t.Errorf("an exchange of another connection was cancelled: %v", cause)
	default:
		second.hangUp()
		_ = within(t, "the exchange to be cancelled", h.cancelled)
	}
}
