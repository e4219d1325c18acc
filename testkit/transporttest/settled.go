package transporttest

import (
	"bytes"
	"runtime"
	"time"
)

// Settled returns an argument for goleak.VerifyTestMain of a carrier over HTTP. It runs m and
// waits, for a minute at most, until no worker of an endpoint is left. If a test does not shut its
// host down, an idle worker remains for half a second.
func Settled(m interface{ Run() int }) interface{ Run() int } { return settled{m} }

type settled struct{ m interface{ Run() int } }

// Run runs the tests and waits for the workers.
func (s settled) Run() int {
	code := s.m.Run()
	for end := time.Now().Add(patience); working() && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	return code
}

func working() bool {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return bytes.Contains(stacks, []byte("transport/internal/workerpool."))
}
