// Package taskwatch has the sets of task ids that an engine keeps beside its store: [Watches] are the
// tasks that requests wait for, [Unreadable] the tasks that were reported as unreadable, and [Foreign]
// the tasks that this process cannot run.
package taskwatch
