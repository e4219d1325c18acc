// Package replay has what a handler needs that runs again on the answers of earlier executions, in
// rounds or in a task: [Effects] keeps the results of Once, so that an effect happens once, and
// [Difference] compares two executions that must do the same.
package replay
