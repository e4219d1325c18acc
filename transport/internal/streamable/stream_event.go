package streamable

import (
	"strconv"
	"strings"
)

// appendEventID appends tag.stream.seq, an id that is unique in the session and identifies its
// stream (2025-11-25 basic/transports). A priming event of the standalone stream, which is stream
// 0, also has a counter at the end.
func appendEventID(dst []byte, tag string, stream, seq uint64) []byte {
	dst = append(append(dst, tag...), '.')
	dst = append(strconv.AppendUint(dst, stream, 10), '.')
	return strconv.AppendUint(dst, seq, 10)
}

// parseEventID parses an id of appendEventID with this tag. It checks and ignores the counter of a
// priming event.
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

// appendEvent appends one SSE event. Frames contain no line breaks, so data is one line.
func appendEvent(dst, id, frame []byte) []byte {
	if len(id) > 0 {
		dst = append(append(append(dst, "id: "...), id...), '\n')
	}
	dst = append(append(dst, eventStart...), frame...)
	return append(dst, eventEnd...)
}

// appendPriming appends a priming event: an id to resume after, the time to reconnect in
// milliseconds, and empty data (2025-11-25 basic/transports, SEP-1699).
func appendPriming(dst, id []byte, retry int64) []byte {
	dst = append(append(append(dst, "id: "...), id...), "\nretry: "...)
	dst = strconv.AppendInt(dst, retry, 10)
	return append(dst, "\ndata: \n\n"...)
}

// comment is an SSE comment. It keeps idle streams open through proxies, and writing it detects a
// client that has disconnected.
const comment = ": \n\n"
