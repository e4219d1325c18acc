// Package stdio carries newline-delimited JSON: over the standard streams of the
// process, or over any pair of byte streams, such as a socket.
//
// A server:
//
//	err := stdio.New().Serve(ctx, host)                            // stdin and stdout
//	err := stdio.New(stdio.Streams(conn, conn)).Serve(ctx, host)   // a socket
//
// A client:
//
//	conn, err := stdio.Dial(ctx, exec.Command("server"))           // a child process
//	conn, err := stdio.NewConn(socket, socket, socket.Close)       // anything else
//
// # Framing
//
// One frame a line (2026-07-28 basic/transports/stdio). LF ends a line, a CR
// before it is dropped, empty lines are ignored, and what stands before the end
// of the input is a frame even without LF. A line longer than [MaxFrame] is
// skipped without being held in memory and answered by one error that has no id;
// the connection goes on. Frames are written by one Write each, one at a time,
// and never hold a raw line break.
//
// # Order and concurrency
//
// Frames are accepted in the order of arrival. Each exchange is served in a
// goroutine of its own, at most [MaxConcurrent] at once; when that many are
// running, nothing more is read until one of them ends. The reading goroutine
// itself runs no exchange: one that waits for a word of the peer would wait for
// itself.
//
// # The end
//
// When the input or ctx ends, nothing more is accepted, and the connection is
// gone in the sense of [transport.Connection.OnClose]: the peer can answer no
// question any more, and a stream of notifications has no reader. The accepted
// exchanges may still write their answers. Their own contexts are cancelled when
// the [Grace] period is over, or at once when writing fails.
//
// A Read of the standard input cannot be interrupted on every platform. When ctx
// ends while such a Read is in progress, its goroutine outlives Serve; a frame
// that it may still get is dropped. Readers with SetReadDeadline are interrupted
// by it, others with Close are closed once the exchanges have ended; the streams
// are of no use after Serve.
//
// # Standard output
//
// Nothing but frames may appear on the standard output. Without [Streams], Serve
// puts [GuardStdout] in place, which leads fmt.Println and child processes to the
// standard error stream.
//
// The package does not understand what it carries, keeps no session, and logs
// nothing; see [OnPanic] for the one exception.
package stdio
