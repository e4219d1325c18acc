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

// Levels lists all levels, least severe first.
func Levels() []Level {
	return []Level{
		LevelDebug, LevelInfo, LevelNotice, LevelWarning,
		LevelError, LevelCritical, LevelAlert, LevelEmergency,
	}
}

// Severity is 0 for debug to 7 for emergency, -1 for what is no level.
func (l Level) Severity() int {
	switch l {
	case LevelDebug:
		return 0
	case LevelInfo:
		return 1
	case LevelNotice:
		return 2
	case LevelWarning:
		return 3
	case LevelError:
		return 4
	}
	return slices.Index(Levels(), l)
}
