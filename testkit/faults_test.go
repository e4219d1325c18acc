package testkit_test

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/testkit"
)

// TestFaults: neither side notices a bad carrier.
func TestFaults(t *testing.T) {
	t.Parallel()
	app := func() *framework.App { return newHandles().app() }
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("virtual/", seed), func(t *testing.T) {
			t.Parallel()
			testkit.Matrix(t, app, underFaults, testkit.Faults(seed), testkit.User("ann"), testkit.Virtual())
		})
	}
	t.Run("real", func(t *testing.T) {
		t.Parallel()
		testkit.AllCarriers(t, app, underFaults, testkit.Faults(1), testkit.User("ann"))
	})
	for _, carrier := range []string{"fiber-socket", "nethttp"} {
		t.Run("resumed/"+carrier, func(t *testing.T) {
			t.Parallel()
			s := testkit.New(t, app, testkit.Over(carrier), testkit.At(protocol.Rev20250618), testkit.Faults(2), testkit.User("ann"))
			underFaults(t, s)
			if testkit.Cuts(s) == 0 {
				t.Error("no stream broke")
			}
		})
	}
}

// TestFaultsAreSoonOver: a stream that breaks costs a test no wait worth mentioning.
func TestFaultsAreSoonOver(t *testing.T) {
	t.Parallel()
	app := func() *framework.App { return newHandles().app() }
	broken := 0
	testkit.Matrix(t, app, func(t *testing.T, s *testkit.Session) {
		t.Helper()
		began := time.Now()
		for range 6 {
			s.CallRaw("wait", `{"for":"1ms","exact":9007199254740993}`).OK()
		}
		if took := time.Since(began); took > 400*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		broken += testkit.Cuts(s)
	}, testkit.Faults(2), testkit.User("ann"), testkit.Virtual())
	if broken == 0 {
		t.Error("no stream broke")
	}
}

func underFaults(t *testing.T, s *testkit.Session) {
	t.Helper()
	for i := range 3 {
		s.CallRaw("wait", `{"for":"1s","exact":9007199254740993}`).OK()
		if p := s.Progress(); len(p) != 5*(i+1) {
			t.Errorf("after call %d there was progress %+v", i, p)
		}
	}
	if r := testkit.Revision(s); r >= "2025-06-18" {
		s.OnElicit("What is your name?", "Ann")
		s.CallRaw("greet", "").OK().Mentions("Ann")
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := testkit.CallAs[string](s, "whoami", nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	s.Subscribe("tea://menu")
	s.Server().ResourceUpdated(s.Context(), "tea://menu")
	s.AwaitNotification(protocol.NotificationResourceUpdated)
}

// TestFaultsRepeat: where the carrier is one of frames, answers come twice.
func TestFaultsRepeat(t *testing.T) {
	t.Parallel()
	app := func() *framework.App { return newHandles().app() }
	for _, carrier := range []string{"inmem", "stdio"} {
		twice := 0
		for seed := range uint64(4) {
			s := testkit.New(t, app, testkit.Over(carrier), testkit.Faults(seed))
			for range 8 {
				s.CallRaw("whoami", "").OK()
			}
			twice += testkit.Twice(s)
		}
		if twice == 0 {
			t.Errorf("over %s no answer came twice", carrier)
		}
	}
}

// TestFaultsInPieces: what is a stream of bytes comes in small ones, and is the same.
func TestFaultsInPieces(t *testing.T) {
	t.Parallel()
	const seeds = 16
	text := strings.Repeat("0123456789", 400)
	pieces := map[string]int{}
	for seed := range uint64(seeds) {
		near, far := net.Pipe()
		reader, conn := testkit.InPieces(seed, strings.NewReader(text), near)
		go func() {
			_, _ = io.WriteString(conn, text)
			_ = conn.Close()
		}()
		for name, r := range map[string]io.Reader{"read": reader, "written": far} {
			got := ""
			for buf := make([]byte, len(text)); ; pieces[name]++ {
				n, err := r.Read(buf)
				got += string(buf[:n])
				if err != nil {
					break
				}
			}
			if got != text {
				t.Errorf("seed %d, %s: %d bytes of %d", seed, name, len(got), len(text))
			}
		}
	}
	for _, name := range []string{"read", "written"} {
		if pieces[name] < 3*seeds {
			t.Errorf("%s in %d pieces", name, pieces[name])
		}
	}
}

// TestFaultsAreReproducible: in virtual time the same seed takes the same time.
func TestFaultsAreReproducible(t *testing.T) {
	t.Parallel()
	took := func(seed uint64) (all []time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			s := testkit.New(t, newHandles().app(), testkit.Faults(seed))
			for range 8 {
				began := time.Now()
				s.CallRaw("whoami", "").OK()
				all = append(all, time.Since(began))
			}
		})
		return all
	}
	one := took(1)
	if again := took(1); !slices.Equal(one, again) || slices.Max(one) == 0 {
		t.Errorf("with one seed %v and %v", one, again)
	}
	if other := took(2); slices.Equal(one, other) {
		t.Errorf("with two seeds %v", other)
	}
}
