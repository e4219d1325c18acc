package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// call posts a frame that must be answered, and queues the answer. For each request of the frame
// without an answer, it queues an error.
//
// It is the goroutine of a POST and owns o. Each id in o.waiting gets one arrival, unless the
// connection or ctx ends first.
func (c *httpConn) call(ctx context.Context, stop context.CancelFunc, o *outgoing) {
	for _, id := range o.waiting {
		defer func() { c.running.remove(id.Key()) }()
	}
	err := c.converse(ctx, stop, o)
	if err == nil {
		err = errors.New("the server's response does not hold the answer")
	}
	for _, id := range o.waiting {
		c.push(ctx, arrival{err: &callError{id: id, error: err}})
	}
}

// converse sends the frame, and queues what the response contains. The ids that remain in o.waiting
// have no answer. It closes the body of the response.
func (c *httpConn) converse(ctx context.Context, stop context.CancelFunc, o *outgoing) error {
	resp, session, err := c.post(ctx, o)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case !accepted(resp):
		return c.refused(ctx, o, resp, session)
	case c.oldBinding(): // the answer arrives on the stream
		o.waiting = nil
		discard(resp)
		return nil
	case isStream(resp):
		return c.follow(ctx, stop, o, resp.Body)
	default:
		return c.whole(ctx, o, resp)
	}
}

// tell posts a frame that does not expect an answer.
//
// It runs in the goroutine of the caller of Write. After notifications/initialized it also opens
// the stream of unsolicited messages, and waits for it for a moment.
func (c *httpConn) tell(ctx context.Context, o *outgoing) error {
	resp, session, err := c.post(ctx, o)
	if err != nil {
		return err
	}
	defer discard(resp)
	if !accepted(resp) {
		return statusError(resp, session, readText(resp.Body))
	}
	if o.method == protocol.NotificationInitialized && !c.oldBinding() {
		c.listen(ctx)
	}
	return nil
}

// post sends a frame. session is the session id that the request has named.
//
// The caller closes the body of resp. After initialize the new session id is set before post
// returns, so that the next request names it.
func (c *httpConn) post(ctx context.Context, o *outgoing) (resp *http.Response, session string, err error) {
	req, err := c.request(ctx, http.MethodPost, o)
	if err != nil {
		return nil, "", err
	}
	session = req.Header.Get(headerSession)
	resp, err = c.send(req)
	if err != nil {
		return nil, "", &sendError{err}
	}
	if verb := resp.Request.Method; verb != http.MethodPost {
		discard(resp)
		return nil, "", fmt.Errorf("the server redirects to %s in a way that turns a POST into a %s", resp.Request.URL.Redacted(), verb)
	}
	if o.method == protocol.MethodInitialize && accepted(resp) {
		c.setSession(resp.Header.Get(headerSession))
	}
	return resp, session, nil
}

func accepted(resp *http.Response) bool { return resp.StatusCode/100 == 2 }

// isStream reports whether the body of the response is an event stream that can be read.
func isStream(resp *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return kind == typeStream && compression(resp) == ""
}

// compression returns the compression of a body that the client cannot read, or "". net/http undoes the one
// that it asks for.
func compression(resp *http.Response) string {
	name := strings.ToLower(resp.Header.Get("Content-Encoding"))
	if slices.Contains([]string{"br", "compress", "deflate", "gzip", "x-gzip", "zstd"}, name) {
		return name
	}
	return "" // some servers give the charset
}

// kindOf describes the body of a response that cannot be read.
func kindOf(resp *http.Response) string {
	kind := resp.Header.Get("Content-Type")
	if name := compression(resp); name != "" {
		kind += ", compressed with " + name + ", which the client did not ask for"
	}
	return kind
}

// discard ends a response whose body does not matter. It reads a short body, so that the connection
// can be reused, but limits the time for that to linger.
func discard(resp *http.Response) {
	if resp.ContentLength > 0 && resp.ContentLength < 4<<10 {
		late := time.AfterFunc(linger, func() { _ = resp.Body.Close() })
		_, _ = io.Copy(io.Discard, resp.Body)
		late.Stop()
	}
	_ = resp.Body.Close()
}

// readText returns the beginning of a body, for an error text.
func readText(body io.Reader) []byte {
	text, _ := io.ReadAll(io.LimitReader(body, maxErrorText)) // keep what could be read
	return text
}

// readBody reads a body of at most maxBody bytes.
func readBody(body io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(body, maxBody+1))
	if err != nil {
		return nil, lostAnswer(err)
	}
	if len(text) > maxBody {
		return nil, fmt.Errorf("the answer is longer than %d MiB", maxBody>>20)
	}
	return jsontext.TrimBOM(text), nil
}

// lostAnswer returns the error of a call whose answer is lost. It always wraps io.ErrUnexpectedEOF.
func lostAnswer(cause error) error {
	if cause == nil || errors.Is(cause, io.EOF) || errors.Is(cause, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the stream broke before the answer: %w", io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("the stream broke before the answer: %w (%w)", io.ErrUnexpectedEOF, cause)
}

// whole reads an answer that is not a stream. It ignores the content type: a body that is valid
// JSON is taken as JSON.
func (c *httpConn) whole(ctx context.Context, o *outgoing, resp *http.Response) error {
	body, err := readBody(resp.Body)
	if err != nil {
		return &sendError{err}
	}
	frame := oneLine(body)
	switch {
	case frame != nil:
		c.deliver(ctx, o, frame)
		return nil
	case !answeredBy(body).IsZero():
		c.garbled(ctx, o, body)
		return nil
	case len(body) == 0:
		return fmt.Errorf("the server answered with an empty body (HTTP %d)", resp.StatusCode)
	default:
		return fmt.Errorf("the server's answer is not JSON (%s)", kindOf(resp))
	}
}

// garbled queues a text that Check refuses if other programs read it as an answer. The reader then
// ends the call. It skips other texts: as on stdio, the next event may be a message. It returns false
// if the text could not be queued.
func (c *httpConn) garbled(ctx context.Context, o *outgoing, text []byte) bool {
	id := answeredBy(text)
	if id.IsZero() {
		return true
	}
	o.answered(id)
	return c.push(ctx, arrival{frame: text})
}

// oneLine returns text as a frame, or nil if it is not JSON.
func oneLine(text []byte) []byte {
	if jsontext.Check(text, limits(len(text))) != nil {
		return nil
	}
	return jsontext.Compact(nil, text)
}

// refused handles a status that means failure. If the body is a JSON-RPC error, it is the answer to
// this request, with any id.
func (c *httpConn) refused(ctx context.Context, o *outgoing, resp *http.Response, session string) error {
	body, _ := readBody(resp.Body) // the status suffices
	status := statusError(resp, session, body)
	frame := oneLine(body)
	if failureIn(frame) == nil {
		return status
	}
	c.endAll(ctx, o, frame, status)
	return nil
}

// endAll answers all requests of a frame with one JSON-RPC error. It returns false if the error
// could not be queued.
func (c *httpConn) endAll(ctx context.Context, o *outgoing, frame []byte, status error) bool {
	ids := o.waiting
	o.waiting = nil
	for _, id := range ids {
		if !c.push(ctx, arrival{err: &callError{id: id, frame: frame, error: status}}) {
			return false
		}
	}
	return true
}

// codeNotFound is the code for an unknown resource on older revisions.
const codeNotFound = -32002

// statusError returns the error of a refused request. If the body reports an unknown method or wrong
// parameters, the session continues, and with 400 also if the call itself may have failed.
func statusError(resp *http.Response, session string, body []byte) *HTTPError {
	e := newHTTPError(resp, body)
	if !e.endsSession() {
		return e
	}
	spared := []int{jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidParams}
	if e.Status == http.StatusBadRequest {
		spared = append(spared, jsonrpc.CodeInternal, codeNotFound)
	}
	if failure := failureIn(oneLine(body)); failure == nil || !slices.Contains(spared, failure.Code) {
		e.session = session
	}
	return e
}

// failureIn returns the JSON-RPC error in a frame, or nil.
func failureIn(frame []byte) *jsonrpc.Error {
	msg, _ := decodeMessage(frame)
	return msg.Error
}

// deliver queues a frame, and removes the ids that it answers from o. It returns false if the frame
// could not be queued.
func (c *httpConn) deliver(ctx context.Context, o *outgoing, frame []byte) bool {
	batch := jsonrpc.IsBatch(frame)
	alone := !batch || jsontext.Len(frame) == 1
	texts := slices.Values([][]byte{frame})
	if batch {
		texts = jsontext.Elements(frame)
	}
	for text := range texts {
		msg, fault := decodeMessage(text)
		switch {
		case fault != nil && fault.Notification:
			o.answered(fault.ID)
		case msg.Kind == jsonrpc.Failure && msg.ID.IsZero() && alone:
			return c.endAll(ctx, o, frame, nil)
		case msg.Kind == jsonrpc.Result || msg.Kind == jsonrpc.Failure:
			if o.answered(msg.ID) && o.modern != nil && o.method == protocol.MethodListTools {
				c.learn(msg.Result)
			}
		}
	}
	return c.push(ctx, arrival{frame: frame})
}
