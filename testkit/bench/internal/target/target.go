// Package target is the code that the servers of the bench share, except for their tools. A signal
// makes a server report its memory or write a CPU profile. The package also has the command line of
// servers that are not Kagami programs, and calls in the process of the server through a pipe.
//
// A server prints the address it listens on as the last word of a line on stderr,
// after " on ", as package serve does.
package target

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"syscall"
)

// Memory of a process, after two collections and after what is free was returned.
type Memory struct {
	Heap   uint64 // bytes of live objects
	Stacks uint64 // bytes
}

// MemoryLine is how a server reports its memory on stderr.
const MemoryLine = "memory: heap %d stacks %d"

// ProfileVar is the variable of the environment with the file for a profile.
const ProfileVar = "BENCH_PROFILE"

// ProfileLine is what a server says on stderr when a profile begins and when it is written.
const ProfileLine = "profile: ok"

// Observe has the process report its memory whenever it gets SIGUSR1, and begin or end
// a profile of its CPU whenever it gets SIGUSR2.
func Observe() {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() {
		var p profile
		for s := range asked {
			if s == syscall.SIGUSR2 {
				p.turn()
				continue
			}
			m := measure()
			_, _ = fmt.Fprintf(os.Stderr, MemoryLine+"\n", m.Heap, m.Stacks)
		}
	}()
}

// profile is on its way while there is a file.
type profile struct{ file *os.File }

func (p *profile) turn() {
	err := p.toggle()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "profile:", err)
		return
	}
	_, _ = fmt.Fprintln(os.Stderr, ProfileLine)
}

func (p *profile) toggle() (err error) {
	if p.file != nil {
		pprof.StopCPUProfile()
		err, p.file = p.file.Close(), nil
		return err
	}
	if p.file, err = os.Create(os.Getenv(ProfileVar)); err != nil {
		p.file = nil
		return err
	}
	return pprof.StartCPUProfile(p.file)
}

func measure() Memory {
	runtime.GC() // the first lets pools go, the second what they held
	runtime.GC()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return Memory{m.HeapAlloc, m.StackInuse}
}

// Server is a server that is not a Kagami program.
type Server struct {
	HTTP  func(net.Listener) error                                     // serves until the process ends; may be nil
	Stdio func(ctx context.Context, in io.Reader, out io.Writer) error // serves until in ends; may be nil
}

// Main is the main function of such a server. What args leave out of its flags is
// stdio. It reports an error on stderr, and returns the exit code.
func Main(ctx context.Context, s Server) int {
	Observe()
	if err := s.run(ctx, os.Args[1:]); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// MainEcho is Main of a server that echoes. What it repeats is read before it listens.
func MainEcho(ctx context.Context, serverOf func(*Echo) Server) int {
	echo, err := newEcho()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return Main(ctx, serverOf(echo))
}

func (s Server) run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == PipeCommand {
		return Pipe(ctx, args[1:], os.Stdout, s.Stdio)
	}
	set := flag.NewFlagSet("target", flag.ContinueOnError)
	addr := set.String("http", "", "address to serve HTTP on")
	if err := set.Parse(args); err != nil {
		return err
	}
	if *addr == "" {
		if s.Stdio == nil {
			return errors.New("this server has no stdio")
		}
		return s.Stdio(ctx, os.Stdin, os.Stdout)
	}
	if s.HTTP == nil {
		return errors.New("this server has no HTTP")
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", *addr)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	_, _ = fmt.Fprintf(os.Stderr, "target serves HTTP on %s\n", l.Addr())
	return s.HTTP(l)
}
