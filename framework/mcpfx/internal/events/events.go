// Package events is the log of fx in the log of the program.
package events

import (
	"errors"

	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/kagami-mcp/kagami/framework"
)

// events is fx's own log. fx reports an error where it happens, wherever it passes and
// at the end: the end has it all.
type events struct{ fxevent.ZapLogger }

// New is for fx.WithLogger. It needs nothing: fx asks for it after mistakes, too.
func New(in struct {
	fx.In
	Logger *zap.Logger `optional:"true"`
},
) fxevent.Logger {
	e := &events{fxevent.ZapLogger{Logger: in.Logger}}
	if in.Logger == nil {
		e.Logger = framework.StderrLogger()
	}
	e.UseLogLevel(zapcore.DebugLevel)
	e.UseErrorLevel(zapcore.DebugLevel)
	return e
}

// LogEvent logs one event.
func (e *events) LogEvent(event fxevent.Event) {
	switch event := event.(type) {
	case *fxevent.Started:
		e.failed("the program does not start", event.Err)
	case *fxevent.Stopped:
		e.failed("the program did not stop in good order", event.Err)
	}
	e.ZapLogger.LogEvent(event)
}

func (e *events) failed(what string, err error) {
	if broken, ok := errors.AsType[*framework.BuildError](err); ok {
		broken.Log(e.Logger)
	} else if err != nil {
		e.Logger.Error(what, zap.String("error", err.Error()))
	}
}
