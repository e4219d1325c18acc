// Package record turns the records of the ports into bytes and back, for stores that
// keep bytes.
//
//	data := record.AppendTask(nil, &r)
//	r, err := record.ParseTask(data)
//
// Every field of a record survives, times to the nanosecond and in UTC; nil and empty
// are the same. The first byte is the number of the format, so that a program that is
// older than the data says so ([ErrNewer]) and does not guess. What is not a record in
// whole is an error ([ErrMalformed]), never a panic and never memory in proportion to
// anything but the bytes that are there. A record that was parsed shares nothing with
// them.
//
// What a record says is not looked into: task.Record.Validate does that.
package record
