package transporttest

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"
)

// testStopsBusy: if a response does not contain "Connection: close", a client may send another
// request. While the server stops, each such request is answered or refused with a response, and no
// response is cut.
func testStopsBusy(t *testing.T, serve SiteFunc) {
	const rounds, clients = 3, 24
	for range rounds {
		site := serve(t, newHTTPHost(t), Settings{Grace: 10 * time.Second})
		var all, accepted sync.WaitGroup
		for n := range clients {
			c := dialRaw(t, site.URL)
			accepted.Add(1)
			all.Go(func() {
				first := sync.OnceFunc(accepted.Done)
				defer first()
				for id := n; ; id++ { // JSON and streams alternate, so that each follows each
					closed, err := c.busy(id)
					if err != nil {
						t.Errorf("client %d, request %d: %v", n, id-n+1, err)
					}
					first()
					if closed || err != nil {
						return
					}
				}
			})
		}
		accepted.Wait() // a connection that was not accepted before the end may be reset
		site.Stop()
		all.Wait()
	}
}

// busy sends one request and reads its answer to the end. It reports whether the connection is
// closed afterwards.
func (r *raw) busy(id int) (closed bool, err error) {
	method := []string{"echo", "many", "many"}[id%3]
	if _, err := io.WriteString(r.conn, r.text(ask{body: frame(id, method, script{Count: 3})})); err != nil {
		return false, err
	}
	response, err := http.ReadResponse(r.in, &http.Request{Method: http.MethodPost})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	_, err = io.Copy(io.Discard, bufio.NewReader(response.Body))
	return response.Close, err
}
