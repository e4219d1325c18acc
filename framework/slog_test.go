package framework_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"testing/slogtest"
	"testing/synctest"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

// The contract of slog.Handler, as the standard library states it.
func TestSlogHandlerIsOne(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	logger := func(*testing.T) slog.Handler {
		out.Reset()
		core := zapcore.NewCore(zapcore.NewJSONEncoder(zapcore.EncoderConfig{
			TimeKey: slog.TimeKey, LevelKey: slog.LevelKey, MessageKey: slog.MessageKey,
			EncodeTime: zapcore.RFC3339NanoTimeEncoder, EncodeLevel: zapcore.CapitalLevelEncoder,
		}), zapcore.AddSync(&out), zap.InfoLevel)
		return framework.SlogHandler(zap.New(core))
	}
	slogtest.Run(t, logger, func(t *testing.T) map[string]any {
		got := map[string]any{}
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatalf("%s: %v", out.Bytes(), err)
		}
		return got
	})
}

func TestSlogReachesTheClient(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.WarnLevel)
	elsewhere, outside := observer.New(zap.DebugLevel)
	log := slog.New(framework.SlogHandler(zap.New(elsewhere)))
	s := build(t, framework.New("test", "1", framework.WithLogger(zap.New(core).Named("shop"))).Add(doing(func(ctx context.Context) error {
		log.DebugContext(ctx, "not wanted")
		log.With("id", int64(1<<53+1)).InfoContext(ctx, "hello", "api_key", "hunter2", slog.Group("user", "name", "ann", "token", "t0k3n"))
		log.WithGroup("db").Log(ctx, framework.SlogNotice, "note", "rows", 3, "error", errors.New("cause"))
		log.Log(ctx, framework.SlogCritical, "critical")
		log.Log(ctx, framework.SlogAlert, "alert")
		log.Log(ctx, framework.SlogEmergency+1, "emergency")
		log.Info("without a context")
		return nil
	})))
	check := func(t *testing.T, p *peer) {
		t.Helper()
		p.tool("t", `{}`).ok()
		want := []string{
			`{"level":"info","logger":"shop","data":{"message":"hello","id":9007199254740993,"api_key":"[hidden]","user":{"name":"ann","token":"[hidden]"}}}`,
			`{"level":"notice","logger":"shop","data":{"message":"note","db":{"rows":3,"error":"cause"}}}`,
			`{"level":"critical","logger":"shop","data":{"message":"critical"}}`,
			`{"level":"alert","logger":"shop","data":{"message":"alert"}}`,
			`{"level":"emergency","logger":"shop","data":{"message":"emergency"}}`,
		}
		got := p.notifications(protocol.NotificationMessage)
		if len(got) != len(want) {
			t.Fatalf("notified %s", got)
		}
		for i := range want {
			if !sameJSON(t, string(got[i]), want[i]) {
				t.Errorf("got  %s\nwant %s", got[i], want[i])
			}
		}
	}
	check(t, dial(t, s, protocol.Rev20260728, withMeta("io.modelcontextprotocol/logLevel", `"info"`)))
	legacy := dial(t, s, protocol.Rev20251125)
	legacy.call("logging/setLevel", `{"level":"info"}`).ok()
	check(t, legacy)
	silent := dial(t, s, protocol.Rev20260728)
	silent.tool("t", `{}`).ok()
	if got := silent.notifications(protocol.NotificationMessage); got != nil {
		t.Errorf("unasked: %s", got)
	}
	if got := logs.FilterMessage("alert"); got.Len() != 3 || got.All()[0].Level != zap.ErrorLevel ||
		got.All()[0].ContextMap()["severity"] != "alert" || got.All()[0].ContextMap()["tool"] != "t" {
		t.Errorf("the app's log has %v", got.All())
	}
	if logs.FilterMessage("hello").Len() != 0 {
		t.Error("the app's log is not at that level")
	}
	if got := outside.All(); len(got) != 3 || got[0].Message != "without a context" {
		t.Errorf("from elsewhere: %v", got)
	}
}

// Log and slog share one bound.
func TestSlogIsThrottled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(framework.SlogHandler(nil))
		log.Info("nobody listens")
		s := build(t, quiet().Add(doing(func(ctx context.Context) error {
			for range 500 {
				framework.Log(ctx).Info("flood")
				log.InfoContext(ctx, "flood")
			}
			return nil
		})))
		p := dial(t, s, protocol.Rev20260728, withMeta("io.modelcontextprotocol/logLevel", `"debug"`))
		p.tool("t", `{}`).ok()
		if got := p.notifications(protocol.NotificationMessage); len(got) != 20 {
			t.Errorf("%d messages", len(got))
		}
	})
}

func TestSlogEnabled(t *testing.T) {
	t.Parallel()
	core, _ := observer.New(zap.ErrorLevel)
	handler := framework.SlogHandler(zap.New(core))
	var inside []bool
	s := build(t, framework.New("test", "1", framework.WithLogger(zap.New(core))).Add(doing(func(ctx context.Context) error {
		inside = append(inside, handler.Enabled(ctx, slog.LevelInfo), handler.Enabled(ctx, framework.SlogNotice), handler.Enabled(ctx, slog.LevelError))
		return nil
	})))
	dial(t, s, protocol.Rev20260728, withMeta("io.modelcontextprotocol/logLevel", `"notice"`)).tool("t", `{}`).ok()
	dial(t, s, protocol.Rev20260728).tool("t", `{}`).ok()
	want := []bool{false, true, true, false, false, true}
	if len(inside) != len(want) {
		t.Fatalf("enabled: %v", inside)
	}
	for i := range want {
		if inside[i] != want[i] {
			t.Errorf("%d: %v", i, inside)
		}
	}
	if handler.Enabled(t.Context(), slog.LevelWarn) || !handler.Enabled(t.Context(), slog.LevelError) {
		t.Error("outside of a call the logger decides")
	}
}
