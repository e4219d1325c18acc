// Package stdio carries newline-delimited JSON over the standard streams of the process, or over
// any pair of byte streams, such as a socket.
//
// A server:
//
//	err := stdio.New().Serve(ctx, host)                            // stdin and stdout
//	err := stdio.New(stdio.Streams(conn, conn)).Serve(ctx, host)   // a socket
//
// A client:
//
//	conn, err := stdio.Dial(ctx, exec.Command("server"))           // a child process
//	conn := stdio.NewConn(socket, socket, socket.Close)            // anything else
//
// # Framing
//
// A frame is one line (2026-07-28 basic/transports/stdio). LF ends a line. A CR before it is
// dropped. Empty lines, also with a byte order mark, are ignored. The rest of the input before its
// end is a frame even without LF. A line longer than [MaxFrame] is skipped without being held in memory. The server
// answers it with one error that has no id, and the connection goes on. Each Write contains whole
// frames, and a frame never contains a raw line break.
//
// # Order and concurrency
//
// Frames are accepted in the order of arrival, by one goroutine at a time. At most [MaxConcurrent]
// exchanges run at the same time. When that many are running, nothing more is read until one of
// them ends.
//
// The goroutine that reads serves quick exchanges itself, because waking another goroutine takes
// longer than a small call. If an exchange takes 0.2 ms, another goroutine takes over the reading,
// because the exchange may be waiting for the peer. After that, and at the beginning, some
// exchanges get goroutines of their own. Their number grows each time that an exchange is slow
// again, and shrinks after many quick ones.
//
// # What is held back
//
// Frames are written in the order of the calls of Send. Frames that are sent during a Write are
// written together by the next Write. Send returns when the frame has been written, and a single
// frame is written at once, with two exceptions:
//
//   - While the reading goroutine serves frames that arrived together, it holds sent frames back
//     for up to about 0.25 ms.
//   - A burst is more than eight frames, each sent within 50 µs of the one before, while nothing is
//     read: for example progress reports in a loop. Its frames beyond the eighth are held back for
//     up to 0.1 ms, but not beyond the end of an exchange.
//
// At most 16 KiB are held back. On a busy machine the times may be longer. Send returns nil for a
// frame that is held back. If its Write fails, the connection ends.
//
// # The end
//
// When the input or ctx ends, no more frames are accepted, and the connection is gone in the sense
// of
// [transport.Connection.OnClose]: the peer cannot answer questions any more, and notifications have no
// reader. Exchanges that were accepted may still write their answers.
//
// The contexts of these exchanges are cancelled when the [Grace] period is over, or at once when
// writing fails, or when ctx ends after the input. So a process ends soon if its client closes the
// input and then sends SIGTERM. Frames that are held back are written before Serve returns. Nothing
// is written after that, unless a Write that does not return had to be left behind.
//
// A Read of the standard input cannot be interrupted on every platform. If ctx ends during such a
// Read, its goroutine outlives Serve, and a frame that it still gets is dropped. A reader with
// SetReadDeadline is interrupted by a deadline. A reader that only has Close is closed when the
// exchanges have ended. The streams cannot be used after Serve.
//
// # Standard input and output
//
// Only frames may be written to the standard output, and only the carrier may read the standard
// input. Without [Streams], Serve therefore calls [GuardStdout] and [GuardStdin]: fmt.Println and
// child processes write to the standard error stream, and read the null device.
//
// The package does not interpret frames, keeps no session, and logs only panics of the host: the request
// is answered, and the connection goes on.
package stdio

// The rest of this file is for those who change the package.
//
// # Ownership and locks
//
// A server's connection (serving) has these goroutines:
//
//   - the caller of Serve, in run. It waits for the end of the input, of ctx or of writing, and then
//     for the exchanges.
//   - the leader, which reads and accepts frames. It ends with the input, or at its first look after
//     the connection has ended. A Read that cannot be interrupted outlives Serve.
//   - a leader that was relieved. It ends with the exchange or the Write that took too long.
//   - the workers of the pool, each with one exchange. They end when they are idle, or after Stop.
//   - short ones of timers: relieve, which may become the leader, and flushBurst.
//
// The leader owns the reader and the fields of turns. Ownership passes by one step: relieve changes
// number from busy to the next turn, and the old leader sees that in back. A leader is busy only while
// it serves or writes. Until back it uses neither the reader nor the fields, except the timer, so
// whichever of the two steps comes first decides, and no lock is needed.
//
// A slot is a token in the channel slots. The leader takes it before it accepts a frame. It keeps the
// slot for the exchanges that it serves itself, hands it to the worker with the exchange (serveApart),
// or gives it back (drop). drain takes all slots, and does not give them back: when it has all, no
// exchange runs and none begins.
//
// frameWriter.mu is the only lock. It is held for the copy of a frame, and not during a Write nor a
// call of the host. The goroutine that sets writing owns line until written has run, even if Write
// panics. A waiting Send owns its ticket's frame: once withdraw has returned, the writer does not read
// it. Each ticket receives at most one value on wake, which has space for it, so no sender of a value
// waits.
//
// Serve closes nothing but a reader that it has to end. gone, eof and the client's closed are each
// closed once: by the first error or close, by the leader, and by Close.
//
// A client's connection (conn) has the goroutine pump, which owns its reader, and one for each Write
// with a context that can end. pump hands frames over on frames, one at a time. After Close it drops
// them, until the closed stream ends its Read. Close waits for it for at most settle. A process of Dial
// has one more goroutine, which waits for the process to exit.
//
// # Panics and crashes
//
// A panic of the host is recovered and answered. If the host ends the goroutine (runtime.Goexit), a
// new leader takes its place, with its slot, unless that has happened already; a worker gives its slot
// back. If a Write panics or ends the goroutine, the connection ends for all other Sends.
