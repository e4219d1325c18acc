package jsontext

// Compact appends a checked value to dst without the space between its tokens. The result has no
// line break, so it can be used in a line-delimited frame (2026-07-28 basic/transports/stdio). A
// value without space is copied at once.
func Compact(dst, value []byte) []byte {
	start := 0 // everything before start is in dst or is space
	for i := 0; i < len(value); {
		switch {
		case value[i] == '"':
			i, _ = skipString(value, i)
		case isSpace(value[i]):
			dst = append(dst, value[start:i]...)
			i = skipSpace(value, i)
			start = i
		default:
			i++
		}
	}
	return append(dst, value[start:]...)
}
