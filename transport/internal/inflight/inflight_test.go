package inflight_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/transport/internal/inflight"
)

func TestTally(t *testing.T) {
	t.Parallel()
	c := inflight.New()
	if !c.TryAdd() {
		t.Fatal("it does not begin")
	}
	c.Add()
	idle := c.Close()
	if c.TryAdd() {
		t.Error("it begins when it has stopped")
	}
	for range 2 {
		select {
		case <-idle:
			t.Fatal("it is idle while something runs")
		default:
		}
		c.Done()
	}
	<-idle
	c.Add() // too late to be waited for, but no fault
	c.Done()
	<-c.Close()
}

func TestDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := inflight.New()
		c.TryAdd()
		go func() { time.Sleep(time.Second); c.Done() }()
		if err := c.Drain(t.Context(), func() { t.Error("cancelled") }); err != nil {
			t.Error(err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := inflight.New()
		c.TryAdd()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		cancelled := false
		start := time.Now()
		if err := c.Drain(ctx, func() { cancelled = true }); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if took := time.Since(start); !cancelled || took != 3*time.Second {
			t.Errorf("cancelled %v, after %v", cancelled, took)
		}
	})
}
