package framework

import (
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Log writes each fault as a separate log entry, as a warning or an error. The text of Error would
// be one entry with many lines.
func (e *BuildError) Log(to *zap.Logger) {
	for _, f := range e.Faults {
		level := zapcore.ErrorLevel
		if f.Warning {
			level = zapcore.WarnLevel
		}
		to.Log(level, f.Problem, zap.String("component", f.Component), zap.String("where", f.Where),
			zap.String("function", f.Function), zap.String("path", f.Path), zap.String("fix", f.Fix))
	}
}
