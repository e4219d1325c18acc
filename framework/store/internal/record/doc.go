// Package record converts records of sessions and tasks to bytes and back, for stores that keep
// bytes.
//
//	data := record.AppendTask(nil, &r)
//	r, err := record.ParseTask(data)
//
// Every field of a record survives. Times are kept to the nanosecond and become UTC; an empty slice
// becomes nil. The first byte is the number of the format. A program that is older than the data
// returns [ErrNewer] and does not guess.
//
// Data that is not a complete record is an error ([ErrMalformed]). Parsing does not panic, and
// takes memory only in proportion to the length of the data. A parsed record shares no memory with
// the data.
//
// The package does not check the content of a record; task.Record.Validate does that.
package record
