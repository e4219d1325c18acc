package testkit

import (
	"bytes"
	"sync"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// journal holds the app's log for the log of a failed test. Loggers append to it, also after the
// test has ended; mu guards text.
type journal struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

// journalBytes is the maximum size of a journal. Later entries are dropped, because the first error
// is usually the cause of the others.
const journalBytes = 1 << 16

// newJournal returns a journal that is written to the log of the test if the test fails.
func newJournal(t testing.TB) *journal {
	t.Helper()
	j := &journal{}
	t.Cleanup(func() {
		t.Helper()
		j.mu.Lock()
		defer j.mu.Unlock()
		if t.Failed() && j.text.Len() > 0 {
			t.Logf("testkit: the app has logged:\n%s", j.text.String())
		}
	})
	return j
}

// Write keeps a line.
func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.text.Len() < journalBytes {
		j.text.Write(line)
	}
	return len(line), nil
}

// logger returns a logger with the default level of an app's own logger. Its entries have no times,
// because they would not help.
func (j *journal) logger() *zap.Logger {
	return zap.New(zapcore.NewCore(zapcore.NewConsoleEncoder(zapcore.EncoderConfig{
		MessageKey: "msg", LevelKey: "level", NameKey: "logger", EncodeLevel: zapcore.LowercaseLevelEncoder, EncodeDuration: zapcore.StringDurationEncoder,
	}), zapcore.AddSync(j), zapcore.InfoLevel))
}
