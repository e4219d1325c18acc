package framework

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/kagami-mcp/kagami/framework/internal/secretname"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Log returns the logger of a call. It never returns nil. In a handler it is the app's logger,
// which also sends to the client the entries of the levels that the client wants. The client sets
// the level with the request on 2026-07-28, and for the session on earlier revisions.
//
// For the client, members with the name of a secret ([IsSecretName]) are redacted at any depth.
// Each call sends at most 20 messages plus 10 per second. The tag secret does not have an effect
// here. A struct that is logged as a whole (zap.Any) shows its secret members.
//
// In a function of OnStart, OnStop or OnRootsChanged, Log returns the app's logger. Elsewhere
// outside a handler, the logger discards everything.
func Log(ctx context.Context) *zap.Logger {
	h := callCtxFrom(ctx)
	if h == nil || h.server == nil {
		return zap.NewNop()
	}
	h.logging.Do(func() { h.logger = h.makeLogger() })
	return h.logger
}

func (h *callCtx) makeLogger() *zap.Logger {
	base := h.server.cfg.logger
	if h.call == nil {
		return base
	}
	base = base.With(h.logFields()...)
	// The level of a session may change during the call. On 2026-07-28 it belongs to the request.
	if !h.call.Logs(protocol.LevelEmergency) && h.call.Session() == "" {
		return base
	}
	h.bucket = &bucket{}
	if top := h.top(); top != h { // all logs of a call share one bucket
		if Log(top); top.bucket != nil {
			h.bucket = top.bucket
		}
	}
	client := &clientCore{h: h, encoder: zapcore.NewJSONEncoder(clientEncoding()), bucket: h.bucket}
	return base.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return zapcore.NewTee(core, client)
	}))
}

// logFields returns the fields that identify the call in the app's log.
func (h *callCtx) logFields() []zap.Field {
	fields := []zap.Field{zap.String("call", h.callID())}
	if h.component != nil {
		fields = append(fields, zap.String(h.component.noun, h.component.info.Name))
	}
	return fields
}

// Notify sends a message to the client only, at one of the eight levels of the specification,
// including the levels that zap lacks. It sends the message if the client wants that level, and
// does not drop any. Secrets are redacted as by Log. With an unknown level, or a context outside a
// call, Notify does nothing.
func Notify(ctx context.Context, level protocol.Level, message string, fields ...zap.Field) {
	h := callCtxFrom(ctx)
	if h == nil || h.call == nil || !h.call.Logs(level) {
		return
	}
	h.send(level, "", zapcore.NewJSONEncoder(clientEncoding()), message, fields)
}

// clientEncoding returns the format of the data of a log notification. It has only the message and
// the fields, because level and logger are members of the notification.
func clientEncoding() zapcore.EncoderConfig {
	return zapcore.EncoderConfig{
		MessageKey:     "message",
		SkipLineEnding: true,
		EncodeDuration: zapcore.StringDurationEncoder,
		EncodeTime:     zapcore.RFC3339NanoTimeEncoder,
	}
}

func (h *callCtx) send(level protocol.Level, logger string, encoder zapcore.Encoder, message string, fields []zap.Field) {
	buf, err := encoder.EncodeEntry(zapcore.Entry{Message: message}, fields)
	if err != nil { // a failure must not fail the handler
		h.server.cfg.logger.Warn("a log message for the client could not be encoded", zap.String("message", message), zap.Error(err))
		return
	}
	defer buf.Free()
	h.call.Log(h.Context, level, logger, appendMasked(nil, buf.Bytes()))
}

// clientCore sends log entries to the client of one call.
type clientCore struct {
	h       *callCtx
	encoder zapcore.Encoder // contains the fields of With
	bucket  *bucket         // shared by all loggers that derive from the same Log
}

// Enabled reports whether the client wants the level. The client's level may change during the
// call.
func (c *clientCore) Enabled(level zapcore.Level) bool { return c.h.call.Logs(levelOf(level)) }

// With returns a core that adds fields to all entries.
func (c *clientCore) With(fields []zap.Field) zapcore.Core {
	encoder := c.encoder.Clone()
	for _, f := range fields {
		f.AddTo(encoder)
	}
	return &clientCore{h: c.h, encoder: encoder, bucket: c.bucket}
}

// Check adds the core to entries that the client wants.
func (c *clientCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(entry.Level) {
		return checked.AddCore(entry, c)
	}
	return checked
}

// Write sends one entry, unless the bucket is empty.
func (c *clientCore) Write(entry zapcore.Entry, fields []zap.Field) error {
	c.h.sendLimited(c.bucket, levelOf(entry.Level), c.encoder, entry, fields)
	return nil
}

// sendLimited sends an entry like send, unless the bucket is empty. It adds the number of entries that
// were dropped before.
func (h *callCtx) sendLimited(b *bucket, level protocol.Level, encoder zapcore.Encoder, entry zapcore.Entry, fields []zap.Field) {
	dropped, ok := b.take(time.Now())
	if !ok {
		return
	}
	if dropped > 0 {
		fields = append(slices.Clip(fields), zap.Int("dropped", dropped))
	}
	h.send(level, entry.LoggerName, encoder, entry.Message, fields)
}

// Sync does nothing, because entries are not buffered.
func (*clientCore) Sync() error { return nil }

// clientLevels are the levels of the specification for zap's, from debug to fatal.
var clientLevels = [...]protocol.Level{
	protocol.LevelDebug, protocol.LevelInfo, protocol.LevelWarning, protocol.LevelError,
	protocol.LevelCritical, protocol.LevelAlert, protocol.LevelEmergency,
}

func levelOf(level zapcore.Level) protocol.Level {
	return clientLevels[max(zapcore.DebugLevel, min(level, zapcore.FatalLevel))-zapcore.DebugLevel]
}

// Limits of the log messages from one call to its client (server/utilities/logging: servers SHOULD
// rate limit).
const (
	logBurst  = 20
	logPerSec = 10
)

// bucket is a token bucket that counts refusals.
type bucket struct {
	mu      sync.Mutex // guards all below
	tokens  float64
	last    time.Time
	dropped int
}

// take takes a token, and reports whether there was one. If so, dropped is the number of refusals
// since the last success.
func (b *bucket) take(now time.Time) (dropped int, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last.IsZero() {
		b.tokens = logBurst
	} else {
		b.tokens = math.Min(logBurst, b.tokens+now.Sub(b.last).Seconds()*logPerSec)
	}
	b.last = now
	if b.tokens < 1 {
		b.dropped++
		return 0, false
	}
	b.tokens--
	dropped, b.dropped = b.dropped, 0
	return dropped, true
}

// appendMasked appends a JSON text with the values of secrets redacted. Members whose names are
// names of secrets count, at any depth (server/utilities/logging: MUST NOT contain credentials).
func appendMasked(dst, raw []byte) []byte {
	switch jsontext.KindOf(raw) {
	case jsontext.KindObject:
		between := byte('{')
		for key, member := range jsontext.Members(raw) {
			dst = append(append(append(dst, between), key.Raw()...), ':')
			if secretname.Is(key.String()) {
				dst = jsontext.Quote(dst, hiddenText)
			} else {
				dst = appendMasked(dst, member)
			}
			between = ','
		}
		if between == '{' {
			dst = append(dst, between)
		}
		return append(dst, '}')
	case jsontext.KindArray:
		between := byte('[')
		for item := range jsontext.Elements(raw) {
			dst = appendMasked(append(dst, between), item)
			between = ','
		}
		if between == '[' {
			dst = append(dst, between)
		}
		return append(dst, ']')
	default:
		return jsontext.Compact(dst, raw)
	}
}
