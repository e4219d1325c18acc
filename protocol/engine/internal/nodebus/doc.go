// Package nodebus carries messages between the nodes that share the store of an engine. [Node] sends
// the messages of this process, in order and with a bounded outbox. [Changes] collects what the
// messages of other nodes announce, so that one goroutine handles it.
//
// Node.mu and Changes.mu guard a queue each, and are held for a few steps, never while the bus is used
// or together. The package starts no goroutine. The caller runs one in Node.Run and one that calls Next,
// and both end with their context. A message belongs to the outbox until Run has taken it. out and look
// are signals with space for one, and are never closed: they are set after something was added, and may
// be set although it was already taken. A queue that is not empty has a signal, or a goroutine that is
// taking from it, so nothing stays behind.
package nodebus
