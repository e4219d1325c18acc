// Package wait has small types that let goroutines of the engine wait for each other.
//
//   - [Group] counts goroutines. After Close it refuses new ones.
//   - [Counter] does the same for exchanges, without a lock, because they are frequent.
//   - [Latch] is an event that happens once.
//   - [Order] lets several goroutines act in their order.
//   - [Pause] and [Signal] wait for a time and wake a goroutine.
//
// Each of their channels is closed once, by the type itself, and no element is sent on it. No method
// blocks, except those whose purpose is waiting: Group.Wait, Group.Pause, Order.Await and Order.Pass,
// InOrder, and Pause. Group.mu is taken last, so Begin may be called with any lock.
package wait
