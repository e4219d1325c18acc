package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client/internal/sse"
)

// This file implements HTTP+SSE, the binding of 2024-11-05 (basic/transports). One stream carries
// all messages of the server, and its first event contains the URL for POST.

// oldBinding reports whether the connection uses HTTP+SSE.
func (c *httpConn) oldBinding() bool { return c.endpoint.Load() != nil }

// fallBack opens the stream and waits for the endpoint event (2025-11-25 basic/transports
// "Backwards Compatibility").
//
// The goroutine of the stream goes on after that, until the connection ends. If fallBack fails, the
// goroutine ends. found has room for one result, so the goroutine does not wait for fallBack.
func (c *httpConn) fallBack(ctx context.Context, patience time.Duration) error {
	life, cancel := context.WithCancel(c.ctx)
	found := make(chan error, 1)
	if err := c.spawn(func() {
		defer cancel()
		c.oldStream(life, found)
	}); err != nil {
		cancel()
		return err
	}
	patient, stop := c.patient(ctx, patience)
	defer stop()
	select {
	case err := <-found:
		return err
	case <-patient.Done():
		cancel()
		return cmp.Or(ctx.Err(), fmt.Errorf("no endpoint event within %v", patience))
	}
}

// oldStream reads the stream. When the stream ends, the connection ends.
//
// It sends to found once.
func (c *httpConn) oldStream(ctx context.Context, found chan<- error) {
	resp, err := c.get(ctx, "")
	if err != nil {
		found <- err
		return
	}
	defer discard(resp)
	r := sse.NewReader(resp.Body, maxBody)
	if err := c.findEndpoint(r, resp.Request.URL); err != nil {
		found <- err
		return
	}
	found <- nil
	for {
		event, err := r.Next()
		if err != nil {
			c.push(ctx, arrival{err: fmt.Errorf("the event stream ended: %w", err)})
			return
		}
		if event.Type != "message" {
			continue
		}
		if frame := oneLine(event.Data); frame != nil {
			c.push(ctx, arrival{frame: frame})
		} else {
			c.garbled(ctx, &outgoing{}, event.Data)
		}
	}
}

// findEndpoint reads events up to the endpoint event. The endpoint is relative to the URL of the
// stream. It must have the origin of the caller's URL, because the credentials are for that origin.
func (c *httpConn) findEndpoint(r *sse.Reader, base *url.URL) error {
	for {
		event, err := r.Next()
		if errors.Is(err, io.EOF) {
			return errors.New("the stream ended before an endpoint event")
		}
		if err != nil {
			return err
		}
		if event.Type != "endpoint" {
			continue
		}
		endpoint, err := base.Parse(string(event.Data))
		if err != nil {
			return fmt.Errorf("the endpoint: %w", err)
		}
		if origin(endpoint) != origin(c.url) {
			return fmt.Errorf("the endpoint %s is on another origin", endpoint.Redacted())
		}
		if endpoint.User == nil {
			endpoint.User = c.url.User // as for a relative endpoint
		}
		c.setSession("")
		c.endpoint.Store(endpoint)
		return nil
	}
}

// origin returns the scheme, the host and the port. The case of a host does not matter (RFC 3986
// section 3.2.2).
func origin(u *url.URL) string {
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// isOldServer reports whether an answer to initialize looks like the answer of a server that
// supports only HTTP+SSE. Such a server refuses the POST. If it sends a JSON-RPC error, the error
// has neither the id of the request nor a code of 2026-07-28 (2025-11-25 basic/transports
// "Backwards Compatibility").
func isOldServer(err error) bool {
	e, refused := errors.AsType[*HTTPError](err)
	if !refused {
		return false
	}
	if answer, answered := errors.AsType[*refusedError](err); answered && (!answer.anonymous || isReserved(err)) {
		return false
	}
	return slices.Contains([]int{http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed}, e.Status)
}

// isReserved reports whether the error code is in the range that 2026-07-28 has reserved (basic
// "Error Codes").
func isReserved(err error) bool {
	e, ok := errors.AsType[*protocol.Error](err)
	return ok && e.Code <= -32020 && e.Code >= -32099
}
