package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

type cityIn struct {
	City string `json:"city" validate:"oneof=Oslo Rome"`
}

func weather(t *testing.T) *framework.Server {
	t.Helper()
	s, err := framework.New("weather", "1.0.0").Add(
		framework.Tool("forecast", func(_ context.Context, in cityIn) (Forecast, error) {
			if in.City == "Rome" {
				return Forecast{}, framework.UserErrorf("there is no forecast")
			}
			return Forecast{Days: []string{"rain", "sun"}}, nil
		}),
		framework.Tool("travel", func(ctx context.Context, _ struct{}) (string, error) {
			city, err := framework.Elicit[string](ctx, "Where to?")
			return "to " + city, err
		}),
	).Build()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Shutdown(context.Background()) })
	return s
}

func agent(t *testing.T, s *framework.Server, person Person) *Agent {
	t.Helper()
	a, err := Connect(t.Context(), client.InMemory(s), person)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

func TestUse(t *testing.T) {
	answer, refusal := map[string]any{"value": "Oslo"}, error(nil)
	a := agent(t, weather(t), func(_ context.Context, question string, form *client.Form) (map[string]any, error) {
		if question != "Where to?" || len(form.Fields) != 1 {
			t.Errorf("%s %+v", question, form)
		}
		return answer, refusal
	})
	for _, tt := range []struct {
		name, input, want string
		failed            bool
	}{
		{"forecast", `{"city":"Oslo"}`, "rain", false},
		{"forecast", `{"city":"Rome"}`, "there is no forecast", true},
		{"forecast", `{"city":"Paris"}`, "Try", true},
		{"forcast", `{}`, "forcast", true},
		{"travel", `{}`, "to Oslo", false},
	} {
		r, err := a.Use(t.Context(), protocol.ToolUse{ID: "1", Name: tt.name, Input: []byte(tt.input)})
		if err != nil {
			t.Fatal(err)
		}
		text, _ := r.Content[0].(protocol.Text)
		if r.IsError != tt.failed || !strings.Contains(text.Text, tt.want) {
			t.Errorf("%s %s: %+v", tt.name, tt.input, r)
		}
	}
	refusal = errNo
	if r, err := a.Use(t.Context(), protocol.ToolUse{Name: "travel"}); err != nil || !r.IsError {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestDays(t *testing.T) {
	a := agent(t, weather(t), nil)
	if days, err := a.Days(t.Context(), "Oslo"); err != nil || !slices.Equal(days, []string{"rain", "sun"}) {
		t.Errorf("%q, %v", days, err)
	}
	if _, err := a.Days(t.Context(), "Rome"); err == nil || !strings.Contains(err.Error(), "there is no forecast") {
		t.Error(err)
	}
}

func TestChangedTools(t *testing.T) {
	s := weather(t)
	a := agent(t, s, nil)
	if tools, err := a.Tools(t.Context()); err != nil || len(tools) != 2 {
		t.Errorf("%+v, %v", tools, err)
	}
	s.RemoveTools("travel")
	a.stale <- <-a.stale // wait for the change, and keep it
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if tools, err := a.Tools(ended); err == nil {
		t.Errorf("%+v", tools)
	}
	if tools, err := a.Tools(t.Context()); err != nil || len(tools) != 1 {
		t.Errorf("%+v, %v", tools, err)
	}
	_ = s.Shutdown(t.Context())
	if _, err := a.Use(t.Context(), protocol.ToolUse{Name: "forecast"}); err == nil || errors.Is(err, errNo) {
		t.Errorf("with the server gone: %v", err)
	}
}
