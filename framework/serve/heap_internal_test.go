package serve

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

func TestPercent(t *testing.T) {
	t.Parallel()
	for live, want := range map[uint64]int{0: 400, 2 << 20: 400, 4 << 20: 220, 7 << 20: 100, 15 << 20: 100, 16 << 20: 100, 1 << 40: 100} {
		if got := percentFor(live); got != want {
			t.Errorf("%d bytes live: %d %%, want %d", live, got, want)
		}
	}
}

// alone says to the test binary that nothing but TestKeepRoomy is run.
const alone = "KAGAMI_ALONE"

// inProcess runs the test in a process of its own, and reports whether this is that process.
func inProcess(t *testing.T) bool {
	t.Helper()
	if os.Getenv(alone) != "" {
		return true
	}
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), alone+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// Large garbage of a program that then does nothing is collected, and its memory returned.
func TestReturnMemory(t *testing.T) {
	if !inProcess(t) {
		return
	}
	const large = 512 << 20
	keepRoomy(t.Context())
	for range 4 {
		much := make([]byte, large/4) // the runtime collects meanwhile, and then not again
		runtime.KeepAlive(much)
	}
	for range 100 * int(quiet/time.Second) {
		if resident() < large/16 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("%d bytes are in memory", resident())
}

// resident returns the bytes of the heap that the operating system has given and not got back.
func resident() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapSys - m.HeapReleased
}

// The percentage is the process's, and small is the heap of a new one.
func TestKeepRoomy(t *testing.T) {
	if !inProcess(t) {
		return
	}
	debug.SetGCPercent(leastPercent)
	t.Setenv("GOMEMLIMIT", "")
	t.Setenv("GOGC", "100")
	keepRoomy(t.Context())
	if got := percent(); got != leastPercent {
		t.Fatalf("the environment says 100, and it is %d", got)
	}

	t.Setenv("GOGC", "")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	small := percentFor(liveHeap())
	keepRoomy(ctx)
	if got := percent(); got < small || got <= leastPercent {
		t.Fatalf("a heap of %d bytes is collected at %d %%", liveHeap(), got)
	}
	much := make([]byte, roomy)
	eventually(t, func() bool { return percent() == leastPercent })
	runtime.KeepAlive(much)
	eventually(t, func() bool { return percent() > leastPercent })
	cancel()
	debug.SetGCPercent(150)
	for range 20 {
		runtime.GC()
	}
	if got := percent(); got != 150 {
		t.Errorf("after its end it has set %d %%", got)
	}
}

// eventually collects until it is so: cleanups run a little after a collection.
func eventually(t *testing.T, so func() bool) {
	t.Helper()
	for range 10_000 {
		runtime.GC()
		if so() {
			return
		}
	}
	t.Fatalf("%d bytes live, and it is %d %%", liveHeap(), percent())
}

func percent() int {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return int(sample[0].Value.Uint64()) //nolint:gosec // at most 400
}
