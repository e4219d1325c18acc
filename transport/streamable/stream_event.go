package streamable

import (
	"strconv"
	"strings"
)

// eventID is tag.stream.seq: unique in the session, and it says which stream it
// belongs to (2025-11-25 basic/transports). A priming event of stream 0, which is the
// session's own, has a count behind.
func appendEventID(dst []byte, tag string, stream, seq uint64) []byte {
	dst = append(append(dst, tag...), '.')
	dst = append(strconv.AppendUint(dst, stream, 10), '.')
	return strconv.AppendUint(dst, seq, 10)
}

// parseEventID undoes appendEventID for ids of this tag only. What is counted behind says
// nothing about the place.
func parseEventID(id, tag string) (stream, seq uint64, ok bool) {
	rest, ok := strings.CutPrefix(id, tag+".")
	if !ok {
		return 0, 0, false
	}
	first, rest, _ := strings.Cut(rest, ".")
	second, count, counted := strings.Cut(rest, ".")
	stream, err1 := strconv.ParseUint(first, 10, 63)
	seq, err2 := strconv.ParseUint(second, 10, 63)
	if counted {
		_, err := strconv.ParseUint(count, 10, 63)
		ok = err == nil && stream == 0
	}
	return stream, seq, ok && err1 == nil && err2 == nil
}

const (
	eventStart = "event: message\ndata: "
	eventEnd   = "\n\n"
)

// appendEvent is one SSE event. Frames hold no line breaks, so data is one line.
func appendEvent(dst, id, frame []byte) []byte {
	if len(id) > 0 {
		dst = append(append(append(dst, "id: "...), id...), '\n')
	}
	dst = append(append(dst, eventStart...), frame...)
	return append(dst, eventEnd...)
}

// appendPriming gives the client an id to come back with, and says when
// (2025-11-25 basic/transports, SEP-1699): the data are empty.
func appendPriming(dst, id []byte, retry int64) []byte {
	dst = append(append(append(dst, "id: "...), id...), "\nretry: "...)
	dst = strconv.AppendInt(dst, retry, 10)
	return append(dst, "\ndata: \n\n"...)
}

// comment keeps idle streams open through proxies and shows that the client is there.
const comment = ": \n\n"
