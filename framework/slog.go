package framework

import (
	"context"
	"log/slog"
	"slices"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/kagami-mcp/kagami/protocol"
)

// Levels of the specification that slog does not define. A level between two levels counts as the
// lower one. Every level below slog.LevelInfo counts as debug.
const (
	SlogNotice    = slog.Level(2)
	SlogCritical  = slog.Level(12)
	SlogAlert     = slog.Level(16)
	SlogEmergency = slog.Level(20)
)

// SlogHandler returns a handler for programs and libraries that log with slog:
//
//	slog.SetDefault(slog.New(framework.SlogHandler(logger)))
//
// In a handler, a record that is logged with the handler's context goes where [Log] writes: to the
// app's logger, and to the client if it wants the level. For the client, secrets are redacted and
// the same limit applies. In a function of OnStart, OnStop or OnRootsChanged, a record with its
// context goes to the app's logger. Other records go to outside. If outside is nil, they are dropped.
//
// Clients get each of the eight levels. The app's log does not have notice, critical, alert or
// emergency, because zap's levels above error end the program. These appear as info or error with a
// field "severity". Groups become objects. The source of a record is not logged. The handler is
// safe for concurrent use.
func SlogHandler(outside *zap.Logger) slog.Handler {
	if outside == nil {
		outside = zap.NewNop()
	}
	return &slogHandler{outside: outside}
}

// slogHandler is the handler that SlogHandler returns. It is immutable.
type slogHandler struct {
	outside *zap.Logger
	within  []scope // outermost first
}

// scope is one WithGroup or one WithAttrs.
type scope struct {
	group  string // "" for WithAttrs
	fields []zap.Field
}

// Enabled reports whether the app's logger or the client wants the level.
func (s *slogHandler) Enabled(ctx context.Context, level slog.Level) bool {
	h := callCtxFrom(ctx)
	return s.base(h).Core().Enabled(appLevel(level)) || h != nil && h.call != nil && h.call.Logs(severityOf(level))
}

// base returns the app's logger for the call, or outside if there is no call.
func (s *slogHandler) base(h *callCtx) *zap.Logger {
	if h == nil || h.server == nil {
		return s.outside
	}
	return h.server.Logger()
}

// Handle writes one record to the app's log, and sends it to the client of the call.
func (s *slogHandler) Handle(ctx context.Context, r slog.Record) error {
	h := callCtxFrom(ctx)
	base, fields := s.base(h), s.fieldsOf(r)
	entry := zapcore.Entry{Level: appLevel(r.Level), Time: r.Time, LoggerName: base.Name(), Message: r.Message}
	// Write to Core directly, because the logger's own methods end the program at some levels.
	if checked := base.Core().Check(entry, nil); checked != nil {
		checked.Write(slices.Concat(marks(h, r.Level), fields)...)
	}
	if h != nil && h.call != nil {
		h.forward(severityOf(r.Level), entry, fields)
	}
	return nil
}

// marks returns the fields that only the app's log gets: the call, and the severity if the level of
// the entry does not show it.
func marks(h *callCtx, level slog.Level) (fields []zap.Field) {
	if h != nil && h.call != nil {
		fields = h.logFields()
	}
	severity := severityOf(level)
	if severity != protocol.LevelNotice && severity.Severity() <= protocol.LevelError.Severity() {
		return fields
	}
	return append(fields, zap.String("severity", string(severity)))
}

// forward sends a record to the client, if the client wants the level and the bucket is not empty.
func (h *callCtx) forward(level protocol.Level, entry zapcore.Entry, fields []zap.Field) {
	if !h.call.Logs(level) {
		return
	}
	if Log(h); h.bucket != nil { // set by Log
		h.sendLimited(h.bucket, level, zapcore.NewJSONEncoder(clientEncoding()), entry, fields)
	}
}

// WithAttrs returns a handler that adds the attributes to all records.
func (s *slogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return s.with(scope{fields: fieldsOf(attrs)})
}

// WithGroup returns a handler that puts later attributes into an object.
func (s *slogHandler) WithGroup(name string) slog.Handler {
	return s.with(scope{group: name})
}

func (s *slogHandler) with(in scope) slog.Handler {
	if in.group == "" && len(in.fields) == 0 {
		return s
	}
	return &slogHandler{s.outside, append(slices.Clip(s.within), in)}
}

// fieldsOf returns the attributes of a record, nested into the handler's groups.
func (s *slogHandler) fieldsOf(r slog.Record) []zap.Field {
	attrs := make([]slog.Attr, 0, r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	fields := fieldsOf(attrs)
	for _, in := range slices.Backward(s.within) {
		switch {
		case in.group == "":
			fields = slices.Concat(in.fields, fields)
		case len(fields) > 0: // a group without members is left out
			fields = []zap.Field{zap.Object(in.group, object(fields))}
		}
	}
	return fields
}

// object is a group of attributes that zap logs as an object.
type object []zap.Field

// MarshalLogObject adds the attributes to the encoder.
func (o object) MarshalLogObject(enc zapcore.ObjectEncoder) error {
	for _, f := range o {
		f.AddTo(enc)
	}
	return nil
}

func fieldsOf(attrs []slog.Attr) []zap.Field {
	fields := make([]zap.Field, 0, len(attrs))
	for _, a := range attrs {
		value := a.Value.Resolve()
		switch {
		case value.Kind() != slog.KindGroup:
			if !(slog.Attr{Key: a.Key, Value: value}).Equal(slog.Attr{}) { // handlers must ignore empty attributes
				fields = append(fields, fieldOf(a.Key, value))
			}
		case a.Key == "": // a group without a name is inlined
			fields = append(fields, fieldsOf(value.Group())...)
		default:
			if members := fieldsOf(value.Group()); len(members) > 0 {
				fields = append(fields, zap.Object(a.Key, object(members)))
			}
		}
	}
	return fields
}

func fieldOf(key string, value slog.Value) zap.Field {
	switch value.Kind() {
	case slog.KindBool:
		return zap.Bool(key, value.Bool())
	case slog.KindDuration:
		return zap.Duration(key, value.Duration())
	case slog.KindFloat64:
		return zap.Float64(key, value.Float64())
	case slog.KindInt64:
		return zap.Int64(key, value.Int64())
	case slog.KindString:
		return zap.String(key, value.String())
	case slog.KindTime:
		return zap.Time(key, value.Time())
	case slog.KindUint64:
		return zap.Uint64(key, value.Uint64())
	default:
		return zap.Any(key, value.Any())
	}
}

// severityOf returns the MCP log level that corresponds to a slog level.
func severityOf(level slog.Level) protocol.Level {
	switch {
	case level < slog.LevelInfo:
		return protocol.LevelDebug
	case level < SlogNotice:
		return protocol.LevelInfo
	case level < slog.LevelWarn:
		return protocol.LevelNotice
	case level < slog.LevelError:
		return protocol.LevelWarning
	case level < SlogCritical:
		return protocol.LevelError
	case level < SlogAlert:
		return protocol.LevelCritical
	case level < SlogEmergency:
		return protocol.LevelAlert
	}
	return protocol.LevelEmergency
}

// appLevel returns the highest zap level up to error that is not above the slog level.
func appLevel(level slog.Level) zapcore.Level {
	switch {
	case level < slog.LevelInfo:
		return zapcore.DebugLevel
	case level < slog.LevelWarn:
		return zapcore.InfoLevel
	case level < slog.LevelError:
		return zapcore.WarnLevel
	}
	return zapcore.ErrorLevel
}
