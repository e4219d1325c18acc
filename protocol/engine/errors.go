package engine

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/kagami-mcp/kagami/protocol/engine/internal/replay"
	"github.com/kagami-mcp/kagami/transport"
)

// ErrShutdown is the error of Accept after Shutdown has begun, and the cause of the context of calls
// that Shutdown cancels.
var ErrShutdown = errors.New("engine: shut down")

// ErrCannotAsk is the error of a question if the client cannot be asked: its revision has no such
// request, it did not declare the capability, or the call has been answered.
var ErrCannotAsk = errors.New("engine: the client cannot be asked")

// ErrNoAnswer is the error of a request that the client has not answered within Config.AskTimeout.
var ErrNoAnswer = errors.New("engine: the client did not answer in time")

// ErrPending is the error of a question that is registered for the next round, and of a call that
// waits for other reasons (Call.Begin, Call.Detach). The handler must return now. Its result is
// ignored, and it will run again with the answer.
var ErrPending = replay.ErrPending

// errGone is the error of an operation that waits for a client after the client has left. Like the
// end of a session, it is not a fault of the server.
var errGone = fmt.Errorf("engine: the connection is gone (%w)", transport.ErrNoSession)

// errLost is the error if another worker has the task.
var errLost = errors.New("engine: another worker has taken the task")

// errGoexit is the panic value for a handler that has ended its goroutine.
var errGoexit = errors.New("the handler called runtime.Goexit")

// PanicError is a recovered panic of user code.
type PanicError struct {
	Value any
	Stack []byte
}

// Error returns the text of the value, without the stack.
func (p *PanicError) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// recovered turns a panic into an error. Defer it; it must not be called in any other way.
func recovered(err *error) {
	if v := recover(); v != nil {
		*err = &PanicError{Value: v, Stack: debug.Stack()}
	}
}

// RecoveredError reports to Config.Failed that work of the engine succeeds again after reported
// failures. It is not a failure itself.
type RecoveredError struct {
	Work   string        // such as "taking a task"
	Lasted time.Duration // from the first failure to the last one
}

// Error returns a text with the work and the duration of its failures.
func (e *RecoveredError) Error() string {
	return fmt.Sprintf("engine: %s succeeds again, after failures for %s", e.Work, e.Lasted.Round(time.Second))
}

// CancelledError is the cause of the context of a call that the client has cancelled.
type CancelledError struct{ Reason string }

// Error returns a text with the client's reason, if it gave one.
func (e *CancelledError) Error() string {
	if e.Reason == "" {
		return "cancelled by the client"
	}
	return "cancelled by the client: " + e.Reason
}

// ChangedError reports a question that differs from the one that was answered under its key, so the
// handler does not do the same in each round. The question is asked again.
type ChangedError struct{ Key string }

// Error returns a text with the key of the question.
func (e *ChangedError) Error() string {
	return fmt.Sprintf("the question %q is not the one that was asked in an earlier round: it is asked again (give questions a Key where their order varies)", e.Key)
}

// ReplayError reports a handler that does something else when it runs again on the same answers, as
// it will in the next round. Its effects may then happen twice, and answers may go to other
// questions.
type ReplayError struct {
	Diff string // lines of the first run begin with "-", of the second with "+"
}

// Error returns a text with the difference.
func (e *ReplayError) Error() string {
	return "the handler asks or does something else when it runs again on the same answers:\n" + e.Diff
}
