package framework

import (
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Log writes every fault as an entry of its own: warnings as such, the others as errors.
// Where somebody reads the log of a program, its report of many lines would be one.
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
