package stdio

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"os"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// ErrFrameTooLong is returned by Read of a client's connection for a frame that is longer than
// MaxFrame. The frame is skipped, and the connection goes on.
var ErrFrameTooLong = errors.New("stdio: frame too long")

const readBuffer = 32 << 10

// frameReader cuts a byte stream into frames. It is not safe for concurrent use.
type frameReader struct {
	in  *bufio.Reader
	max int
	err error // error that ended the stream; nil before
}

func newFrameReader(in io.Reader, limit int) *frameReader {
	return &frameReader{in: bufio.NewReaderSize(in, readBuffer), max: limit}
}

// next returns the next frame, and the caller owns it. After ErrFrameTooLong, next may be called
// again. Any other error has ended the stream; usually it is io.EOF.
func (r *frameReader) next() ([]byte, error) {
	for r.err == nil {
		frame, err := r.line()
		if err != nil || !isBlank(frame) {
			return frame, err
		}
	}
	return nil, r.err
}

// ready reports whether next can return a frame without reading from the stream.
func (r *frameReader) ready() bool {
	for {
		rest, _ := r.in.Peek(r.in.Buffered()) // never fails for the buffered length
		end := bytes.IndexByte(rest, '\n') + 1
		if end == 0 || !isBlank(trimEnd(rest[:end])) {
			return end > 0
		}
		_, _ = r.in.Discard(end) // an empty line
	}
}

// line reads to the end of the line. It stores an error of the stream in r.err. A last line without
// a line end is a frame if the stream ended with io.EOF, and is dropped after another error.
func (r *frameReader) line() ([]byte, error) {
	var frame []byte
	long := false
	for {
		part, err := r.in.ReadSlice('\n')
		// The line end may take two more bytes.
		if long = long || len(frame)+len(part)-len("\r\n") > r.max; long {
			frame = nil
		} else {
			frame = append(frame, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			if r.err = streamEnd(err); !errors.Is(r.err, io.EOF) {
				return nil, nil
			}
		}
		frame = trimEnd(frame)
		if long || len(frame) > r.max {
			return nil, ErrFrameTooLong
		}
		return frame, nil
	}
}

func trimEnd(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r"))
}

// isBlank reports whether a line has no frame: it is empty, or a byte order mark that the peer
// wrote as a line of its own.
func isBlank(line []byte) bool { return len(jsontext.TrimBOM(line)) == 0 }

// streamEnd returns err, or io.EOF if err means that this process has closed its end of the stream.
func streamEnd(err error) error {
	for _, closed := range []error{io.ErrClosedPipe, os.ErrClosed, net.ErrClosed} {
		if errors.Is(err, closed) {
			return io.EOF
		}
	}
	return err
}
