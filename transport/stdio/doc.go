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
// the connection goes on. Each Write has whole frames in it, and frames never hold a
// raw line break.
//
// # Order and concurrency
//
// Frames are accepted in the order of arrival, by one goroutine at a time, and at most
// [MaxConcurrent] exchanges run at once; when that many are running, nothing more is
// read until one of them ends.
//
// The goroutine that reads serves exchanges itself as long as they are quick, since waking
// another one takes longer than a small call. When an exchange keeps it for 0.2 ms, another
// goroutine takes over the reading: the exchange may be waiting for the peer. After that,
// and at the beginning, some exchanges get goroutines of their own: more each time that one
// is slow again, and fewer after many that are quick.
//
// # What is held back
//
// Frames are written in the order of the calls of Send. What is sent while somebody
// writes goes out together with the next Write. Send returns when the frame has been
// written, and a frame that comes alone is written at once, but for two cases:
//
//   - While the reading goroutine serves what has arrived at once, frames are held back
//     for up to about 0.25 ms.
//   - When more than eight frames come, each within 50 µs of the one before, and nothing
//     is read meanwhile, as reports of progress out of a loop do, those beyond the eighth
//     are held back for up to 0.1 ms, but not beyond the end of an exchange.
//
// No more than 16 KiB are held back; on busy processors the times may be longer. Send
// returns nil for what is held back, and a failure of its Write ends the connection.
//
// # The end
//
// When the input or ctx ends, nothing more is accepted, and the connection is gone in the
// sense of [transport.Connection.OnClose]: the peer can no longer answer questions, and a
// stream of notifications has no reader. The accepted exchanges may still write their
// answers. Their own contexts are cancelled when the [Grace] period is over, or at once
// when writing fails, or when ctx ends after the input: a client that closes the input and
// then sends SIGTERM kills the process soon. What is held back is written before Serve
// returns, and nothing afterwards, unless a Write that does not return has to be left behind.
//
// A Read of the standard input cannot be interrupted on every platform. When ctx ends while
// such a Read is in progress, its goroutine outlives Serve; a frame that it may still get
// is dropped. A reader that has SetReadDeadline is interrupted by it; another that has
// Close is closed once the exchanges have ended. The streams cannot be used after Serve.
//
// # Standard input and output
//
// Nothing but frames may appear on the standard output, and nobody else may read the standard
// input. Without [Streams], Serve puts [GuardStdout] and [GuardStdin] in place: fmt.Println and
// child processes write to the standard error stream, and read the null device.
//
// The package does not understand what it carries, keeps no session, and logs
// nothing; see [OnPanic] for the one exception.
package stdio
