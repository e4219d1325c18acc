package bridge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"sync"
	"time"
)

const (
	// replayPatience is how long a new process may take to answer the requests of the session.
	replayPatience = 20 * time.Second
	// endPatience is how long a process may take to end after its stdin is closed.
	endPatience = 5 * time.Second
	// rest is how long an old process may continue its calls.
	rest = 10 * time.Minute
)

// child is one process of the server.
type child struct {
	number int
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	done   chan struct{} // closed when the process has ended

	early   [][]byte   // other messages that it has sent before it took over
	writing sync.Mutex // guards in

	// Guarded by the bridge's mutex.
	owed    map[string]frame           // requests of the client that it has not answered, by id
	again   map[string]bool            // subscriptions that an earlier process has acknowledged, by id
	asked   map[string]json.RawMessage // ids of its own requests that the client has not answered, by the ids with a prefix
	rounds  map[string]bool            // requestState of calls that continue with another request
	retired bool
	dead    bool
}

func start(cmd *exec.Cmd, number int) (*child, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &child{
		number: number, cmd: cmd, in: in, out: bufio.NewReaderSize(out, 64<<10), done: make(chan struct{}),
		owed: map[string]frame{}, again: map[string]bool{}, asked: map[string]json.RawMessage{}, rounds: map[string]bool{},
	}, nil
}

// write sends a line. It ignores errors, because the goroutine that reads from the process notices
// its end.
func (c *child) write(line []byte) {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, _ = c.in.Write(append(slices.Clip(line), '\n'))
}

// replay sends the requests of the session and drops their answers, because the client has already
// received them.
func (c *child) replay(ctx context.Context, replay [][]byte) error {
	answered := make(chan error, 1)
	go func() { answered <- c.exchange(replay) }()
	select {
	case err := <-answered:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(replayPatience):
		return fmt.Errorf("it did not answer within %s", replayPatience)
	}
}

// exchange sends the lines of replay, and returns when all requests in them are answered.
func (c *child) exchange(replay [][]byte) error {
	for _, line := range replay {
		c.write(line)
		asked := framesOf(line)[0]
		if !asked.request() {
			continue
		}
		for {
			answer, err := c.out.ReadBytes('\n')
			if err != nil {
				return errors.New("it has ended")
			}
			if got := framesOf(answer); len(got) == 1 && got[0].response() && key(got[0].ID) == key(asked.ID) {
				break
			}
			c.early = append(c.early, bytes.TrimSpace(answer))
		}
	}
	return nil
}

// end closes the stdin of the process. If the process does not end in time, end kills it.
func (c *child) end() {
	_ = c.in.Close()
	select {
	case <-c.done:
	case <-time.After(endPatience):
		c.kill()
		<-c.done
	}
}

func (c *child) kill() { _ = c.cmd.Process.Kill() }
