// Package proc starts the servers of the bench, and says what they cost: CPU time by
// the clock of the process (clock_getcpuclockid(3), in nanoseconds and with threads
// that have ended; /proc/PID/stat counts the same in steps of 10 ms), resident memory
// from /proc/PID/smaps_rollup, live heap as the server itself reports it.
//
// Linux only. Each process is ended by its own handle, and [Process.Stop] waits for it.
package proc
