// Package nodebus carries messages between the nodes that share the store of an engine. [Node] sends
// the messages of this process, in order and with a bounded outbox. [Changes] collects what the
// messages of other nodes announce, so that one goroutine handles it.
package nodebus
