package testkit_test

import (
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/testkit"
)

// A deadline ends a Read that waits already. Streams over Fiber get their connection
// back by one; where it came too late the next call of the session had no answer.
func TestPipeDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, server := testkit.Pipe(t)
		read := make(chan error, 1)
		go func() {
			_, err := server.Read(make([]byte, 1))
			read <- err
		}()
		synctest.Wait()
		_ = server.SetReadDeadline(time.Unix(1, 0))
		synctest.Wait()
		select {
		case err := <-read:
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error(err)
			}
		default:
			t.Error("Read waits on")
		}
		_ = client.Close()
		_ = server.Close()
	})
}
