// Package taskwatch has the sets of task IDs that an engine keeps in addition to its store.
// [Watches] are the tasks that requests wait for. [Unreadable] are the tasks that were reported as
// unreadable. [Foreign] are the tasks that this process cannot run.
package taskwatch
