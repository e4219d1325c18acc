package fiberhttp

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/transport/internal/httpserver"
)

// TestOptions: each option reaches its setting, and no other.
func TestOptions(t *testing.T) {
	t.Parallel()
	base := newConfig("/mcp", nil)
	for name, tt := range map[string]struct {
		option Option
		set    func(*config)
	}{
		"AllowedHeaders":  {AllowedHeaders("X-Tenant"), func(c *config) { c.AllowedHeaders = []string{"X-Tenant"} }},
		"LoopbackOrigins": {LoopbackOrigins(), func(c *config) { c.LoopbackOrigins = true }},
		"Heartbeat":       {Heartbeat(time.Minute), func(c *config) { c.Heartbeat = time.Minute }},
		"Retry":           {Retry(time.Minute), func(c *config) { c.Retry = time.Minute }},
		"SessionIdle":     {SessionIdle(time.Minute), func(c *config) { c.SessionIdle = time.Minute }},
		"MaxSessions":     {MaxSessions(7), func(c *config) { c.MaxSessions = 7 }},
		"MaxStreams":      {MaxStreams(7), func(c *config) { c.MaxStreams = 7 }},
		"MaxCalls":        {MaxCalls(7), func(c *config) { c.MaxCalls = 7 }},
		"BodyLimit":       {BodyLimit(7), func(c *config) { c.BodyLimit = 7 }},
		"ReadTimeout":     {ReadTimeout(time.Minute), func(c *config) { c.ReadTimeout = time.Minute }},
		"IdleTimeout":     {IdleTimeout(time.Hour), func(c *config) { c.IdleTimeout = time.Hour }},
		"WriteTimeout":    {WriteTimeout(time.Minute), func(c *config) { c.WriteTimeout = time.Minute }},
		"Grace":           {Grace(time.Minute), func(c *config) { c.Grace = time.Minute }},
		"Path":            {Path("/x"), func(c *config) { c.Path = "/x" }},
		"nil":             {nil, func(c *config) { c.Fault = httpserver.ErrNilOption }},
	} {
		want := *base
		tt.set(&want)
		if got := newConfig("/mcp", []Option{tt.option}); !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: %+v, want %+v", name, *got, want)
		}
	}
}

// TestOptionsCopyNames: a program may build the names of two servers from one slice.
func TestOptionsCopyNames(t *testing.T) {
	t.Parallel()
	names := []string{"one.example"}
	options := []Option{AllowedOrigins(names...), AllowedHosts(names...), AllowedHeaders(names...)}
	names[0] = "two.example"
	c := newConfig("/mcp", options)
	for _, got := range [][]string{c.AllowedOrigins, c.AllowedHosts, c.AllowedHeaders} {
		if got[0] != "one.example" {
			t.Errorf("%q", got)
		}
	}
}

// TestNilOption: a server does not start with one.
func TestNilOption(t *testing.T) {
	t.Parallel()
	if err := New("127.0.0.1:0", Grace(time.Second), nil).Serve(t.Context(), nil); !errors.Is(err, httpserver.ErrNilOption) {
		t.Errorf("got %v", err)
	}
}
