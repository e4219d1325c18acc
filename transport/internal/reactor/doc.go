// Package reactor reads and writes the connections of a busy server many at a time.
//
// A connection that waits for itself is read once more, after each request, to find out that nothing is
// there, and each request enters the kernel between two others. Where many are busy, one goroutine waits
// for all of them, by epoll(7): it reads those that are ready, wakes the goroutines that wait in their
// Read, and when these had their turn it writes, one after another, what they have meanwhile put down for it.
// The more there is to do, the more is done at a time.
//
// Where few are busy that goroutine would only be one more to wake. So a connection begins as one of package
// net, which waits for itself. It moves to a loop when others were read often since it was read itself, and
// back when the loop finds little to do at a time. What uses the connection does not know of this: it is a
// net.Conn as any other (see [Conn] for the one difference).
//
// Elsewhere than on Linux a listener is returned as it is.
package reactor
