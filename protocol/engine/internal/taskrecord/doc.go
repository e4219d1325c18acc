// Package taskrecord reads and writes the parts of a [task.Record] that the engine alone understands:
// the call to run, the questions of its handler, and what a client sees of the task. It changes no
// state and uses no store.
package taskrecord
