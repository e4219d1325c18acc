package protocol

import "slices"

// Level is one of the eight severities of RFC 5424.
type Level string

// Levels, least severe first.
const (
	LevelDebug     Level = "debug"
	LevelInfo      Level = "info"
	LevelNotice    Level = "notice"
	LevelWarning   Level = "warning"
	LevelError     Level = "error"
	LevelCritical  Level = "critical"
	LevelAlert     Level = "alert"
	LevelEmergency Level = "emergency"
)

// Levels returns all levels, least severe first.
func Levels() []Level {
	return slices.Clone(levels[:])
}

// Severity returns 0 (debug) to 7 (emergency), or -1 if l is not a level.
func (l Level) Severity() int {
	return slices.Index(levels[:], l)
}

var levels = [...]Level{
	LevelDebug, LevelInfo, LevelNotice, LevelWarning,
	LevelError, LevelCritical, LevelAlert, LevelEmergency,
}
