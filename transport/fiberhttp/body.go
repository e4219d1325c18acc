package fiberhttp

import (
	"bytes"
	"errors"
	"io"
	"net/http/httputil"
	"slices"

	"github.com/valyala/fasthttp"

	"github.com/kagami-mcp/kagami/transport/internal/httpserver"
)

// chunked is the content length of a body that comes in chunks, as fasthttp reports it.
const chunked = -1

// readBody reads the body of a request. large reports whether the body exceeds limit. If the
// announced length exceeds it, nothing is read.
func readBody(rc *fasthttp.RequestCtx, limit int) (body []byte, large bool, err error) {
	if w := workerOf(rc); w != nil {
		return w.readBody(limit)
	}
	return readMounted(rc, limit)
}

func (w *worker) readBody(limit int) (body []byte, large bool, err error) {
	length := w.rc.Request.Header.ContentLength()
	if length > limit || !w.unread {
		return nil, length > limit, nil
	}
	if w.expects {
		w.expects = false
		if _, err := io.WriteString(w.Conn, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			return nil, false, err
		}
	}
	if length == chunked {
		body, err = w.readChunks(limit)
	} else {
		body, err = readStream(w.in, length, limit)
	}
	w.unread = err != nil || len(body) > limit
	httpserver.Answering(w.Conn, true)
	return body, len(body) > limit, err
}

// readChunks reads a body in chunks, at most limit+1 bytes. Fields behind the chunks are dropped,
// because proxies and firewalls have checked only the header (RFC 9110 section 6.5.1). Lines must end
// in CRLF, or a proxy could see another end of the body (request smuggling).
func (w *worker) readChunks(limit int) ([]byte, error) {
	body, err := readStream(httputil.NewChunkedReader(w.in), chunked, limit)
	if err != nil || len(body) > limit {
		return body, err
	}
	for total := 0; total < longestTrailer; {
		line, err := w.in.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		if string(line) == "\r\n" {
			return body, nil
		}
		if !bytes.HasSuffix(line, []byte("\r\n")) || bytes.IndexByte(line, ':') <= 0 {
			return nil, errTrailer
		}
		total += len(line)
	}
	return nil, errTrailer
}

// longestTrailer is the number of bytes that may follow the last chunk.
const longestTrailer = 4 << 10

var errTrailer = errors.New("the fields behind the last chunk are too long or malformed")

// skippable reports whether it is worth reading a body that the handler did not want, so that the
// connection can go on. A client that waits for "100 Continue" may not send the body at all.
func (w *worker) skippable() bool {
	length := w.rc.Request.Header.ContentLength()
	return length <= prefetched && length != chunked && !w.expects
}

// skip reads a body that the handler did not want. It returns false if the connection must end.
func (w *worker) skip() (goesOn bool) {
	if !w.unread {
		return true
	}
	_, err := w.in.Discard(w.rc.Request.Header.ContentLength())
	return err == nil
}

// prefetched is the number of bytes that fasthttp reads of a streamed body before it calls the
// handler.
const prefetched = 8 << 10

// firstRoom is the largest buffer that is allocated before any of a body has arrived. The buffer
// grows with the data, so that a client cannot reserve memory by announcing a long body.
const firstRoom = 16 << 10

// readMounted copies the body of a request that a server of the program has read.
func readMounted(rc *fasthttp.RequestCtx, limit int) (body []byte, large bool, err error) {
	length := rc.Request.Header.ContentLength()
	if length > limit {
		return nil, true, nil
	}
	if !rc.Request.IsBodyStream() {
		raw := rc.Request.Body()
		if len(raw) > limit {
			return nil, true, nil
		}
		return append(make([]byte, 0, len(raw)), raw...), false, nil
	}
	body, err = readStream(rc.RequestBodyStream(), length, limit)
	if err == nil && len(body) <= limit {
		err = rc.Request.CloseBodyStream() // the body was read to its end; see unread
	}
	return body, len(body) > limit, err
}

// readStream reads at most limit+1 bytes. length is the announced length, or negative if the body
// comes in chunks.
func readStream(from io.Reader, length, limit int) ([]byte, error) {
	room := length
	if room < 0 {
		room = 512
	}
	body := make([]byte, 0, min(room, firstRoom))
	for len(body) <= limit && (length < 0 || len(body) < length) {
		if len(body) == cap(body) { // four times what has arrived, or all that is still to come
			more := 3 * len(body)
			if length >= 0 {
				more = min(more, length-len(body))
			}
			body = slices.Grow(body, max(more, 1))
		}
		end := min(cap(body), limit+1)
		if length >= 0 {
			end = min(end, length) // the next request may follow
		}
		n, err := from.Read(body[len(body):end])
		body = body[:len(body)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return body, err
		}
	}
	if length > len(body) {
		return body, io.ErrUnexpectedEOF
	}
	return body, nil
}

// unread makes the connection end with this request if the body was not read to its end. The rest
// of the body would be taken for the next request. The client may go on sending for a moment, so
// that it receives the answer.
func unread(rc *fasthttp.RequestCtx) {
	if !rc.Request.IsBodyStream() {
		return
	}
	if length := rc.Request.Header.ContentLength(); length >= 0 && length <= prefetched {
		return
	}
	rc.SetConnectionClose()
	httpserver.Unread(rc.Conn())
}
