package mcpfx

import (
	"errors"
	"fmt"

	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/kagami-mcp/kagami/framework"
)

// events is fx's own log. fx reports an error where it happens, wherever it passes and
// at the end: the end has it all.
type events struct{ fxevent.ZapLogger }

// newEvents needs nothing: fx asks for it after mistakes, too.
func newEvents(in struct {
	fx.In
	Logger *zap.Logger `optional:"true"`
},
) (fxevent.Logger, error) {
	if in.Logger == nil {
		cfg := zap.NewProductionConfig() // stderr: stdout belongs to the protocol
		cfg.EncoderConfig.EncodeTime = zapcore.ISO8601TimeEncoder
		cfg.Sampling, cfg.DisableCaller, cfg.DisableStacktrace = nil, true, true
		made, err := cfg.Build()
		if err != nil {
			return nil, fmt.Errorf("making a logger: %w", err)
		}
		in.Logger = made
	}
	e := &events{fxevent.ZapLogger{Logger: in.Logger}}
	e.UseLogLevel(zapcore.DebugLevel)
	e.UseErrorLevel(zapcore.DebugLevel)
	return e, nil
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
	if err == nil {
		return
	}
	var broken *framework.BuildError
	if !errors.As(err, &broken) {
		e.Logger.Error(what, zap.String("error", err.Error()))
		return
	}
	for _, f := range broken.Faults {
		level := zapcore.ErrorLevel
		if f.Warning {
			level = zapcore.WarnLevel
		}
		e.Logger.Log(level, f.Problem, zap.String("component", f.Component), zap.String("where", f.Where),
			zap.String("function", f.Function), zap.String("path", f.Path), zap.String("fix", f.Fix))
	}
}
