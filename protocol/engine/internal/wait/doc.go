// Package wait has small types that let goroutines of the engine wait for each other.
//
//   - [Group] counts goroutines. After Close it refuses new ones.
//   - [Counter] does the same for exchanges, without a lock, because they are frequent.
//   - [Latch] is an event that happens once.
//   - [Order] lets several goroutines act in their order.
//   - [Pause] and [Signal] wait for a time and wake a goroutine.
package wait
