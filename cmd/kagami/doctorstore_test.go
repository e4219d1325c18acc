package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// redis starts a redis-server that ends with the test, and returns its URL. user is the part of
// the URL with the password.
func redis(t *testing.T, user string, flags ...string) string {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("no redis-server")
	}
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	server := exec.CommandContext(t.Context(), program, append([]string{"--port", "0", "--unixsocket", socket, "--save", "", "--dir", dir}, flags...)...)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait() // it was killed
	})
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if conn, err := (&net.Dialer{}).DialContext(t.Context(), "unix", socket); err == nil {
			_ = conn.Close()
			return "unix://" + user + socket
		}
		if time.Since(began) > 20*time.Second {
			t.Fatal("redis-server does not listen")
		}
	}
}

func TestDoctorOfStores(t *testing.T) {
	t.Parallel()
	const survives = "a session survives a restart of the server"
	for name, tt := range map[string]struct {
		store string
		found string // codes, besides clients and slow-start
		fine  string
		code  int
		flags []string
	}{
		"file":                {"file:" + filepath.Join(t.TempDir(), "kept.db"), "", survives, 0, nil},
		"durable Redis":       {redis(t, "", "--appendonly", "yes"), "", survives, 0, nil},
		"Redis in memory":     {redis(t, ""), "persistence", survives, 0, nil},
		"Redis that removes":  {redis(t, "", "--appendonly", "yes", "--maxmemory-policy", "allkeys-lru"), "persistence", survives, 0, nil},
		"Redis with password": {redis(t, ":a%20b@", "--requirepass", "a b"), "persistence", survives, 0, nil},
		"Redis that is gone":  {"redis://127.0.0.1:1/0", "store", "", 1, nil},
		"no directory":        {"file:/no/such/directory/kept.db", "store", "", 1, nil},
		"another cause":       {"memory:", "start", "", 1, []string{"--page=256.0.0.1:80"}},
		"HTTP without stdio":  {"memory:", "start", "", 1, []string{"--http", "127.0.0.1:0"}},
		"HTTP and stdio":      {"memory:", "restart", "the program opens its store", 0, []string{"--stdio", "--http", "127.0.0.1:0"}},
		"memory":              {"memory:", "restart", "the program opens its store", 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			found, fine, errs, code := codes(t, append([]string{"--", everything, "--store", tt.store}, tt.flags...)...)
			if took := time.Since(began); took > patience {
				t.Errorf("doctor took %s", took)
			}
			found = slices.DeleteFunc(found, func(c string) bool { return c == "clients" })
			if got := strings.Join(found, " "); got != tt.found || code != tt.code || !strings.Contains(fine, tt.fine) {
				t.Errorf("%q, exit code %d, want %q, %d\n%s\n%s", got, code, tt.found, tt.code, fine, errs)
			}
		})
	}
}

// TestDoctorEndsChildren covers a command that does not pass the signal on to its child, as "go run".
func TestDoctorEndsChildren(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	command, pids := filepath.Join(dir, "command"), filepath.Join(dir, "pids")
	script := fmt.Sprintf("#!/bin/sh\ntrap : INT\n%s \"$@\" & echo $! >>%s\nwait; wait\n", everything, pids)
	if err := os.WriteFile(command, []byte(script), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	found, fine, errs, _ := codes(t, "--", command, "--store", "memory:")
	if !slices.Contains(found, "restart") {
		t.Errorf("%v\n%s%s", found, fine, errs)
	}
	text, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	for pid := range strings.FieldsSeq(string(text)) {
		if exec.CommandContext(t.Context(), "kill", "-0", pid).Run() == nil {
			t.Errorf("process %s still runs", pid)
		}
	}
}

// TestDoctorOfDriver checks a program that does not import the driver of its store.
func TestDoctorOfDriver(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "warned")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", program, "./testdata/warned").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, errs, code := kagami(t, "doctor", "--", program, "--store", "redis://127.0.0.1:1/0")
	if code != 1 || !strings.Contains(out, "FAIL  store: ") || !strings.Contains(out, `import _ "github.com/kagami-mcp/kagami/framework/store/redisstore"`) || strings.Contains(out, "start: ") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}

func TestSettingOf(t *testing.T) {
	t.Parallel()
	environment := []string{"KAGAMI_STORE=memory:", "HOME=/", "KAGAMI_STORE=file:b"}
	for args, want := range map[string]string{
		"": "file:b", "--store": "file:b", "store file:a": "file:b", "--stores file:a": "file:b",
		"--store file:a": "file:a", "-store=file:a": "file:a", "--http :8080 --store redis://h/0 --page": "redis://h/0",
	} {
		if got := settingOf("store", strings.Fields(args), environment); got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
	if got := settingOf("store", nil, nil); got != "" {
		t.Errorf("without a store: %q", got)
	}
}

// TestLooksRunNoTask checks that commands that only look at a server do not run a task that waits in
// its store, and that they can look while another process has the store's file open.
func TestLooksRunNoTask(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program, state := filepath.Join(dir, "charged"), filepath.Join(dir, "state")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", program, "./testdata/charged").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	inRedis := redis(t, "", "--appendonly", "yes")
	for i, store := range []string{"file:" + filepath.Join(state, "tasks.db"), inRedis, inRedis + "?prefix=shop:"} {
		charged := filepath.Join(dir, fmt.Sprint("charged.", i))
		run := func(env []string, args ...string) (string, int) {
			var out, errs shared
			a := &cli{out: &out, errs: &errs, serverEnv: append(env, "CHARGED="+charged)}
			code := a.run(t.Context(), args)
			return out.String() + errs.String(), code
		}
		inEnv := []string{"KAGAMI_STORE=" + store}
		if out, code := run(append(inEnv, "IDLE=1"), "call", program, "charge", "--task", "--detach"); code != 0 {
			t.Fatalf("%s: exit code %d\n%s", store, code, out)
		}
		for _, args := range [][]string{{"tools", program}, {"list", program}, {"lock", program}, {"__complete", "call", program, ""}, {"doctor", program, "--idle", "300ms"}} {
			if out, code := run(inEnv, args...); code != 0 || !strings.Contains(out, "charge") {
				t.Errorf("%s: %q: exit code %d\n%s", store, args, code, out)
			}
		}
		out, code := run(nil, "doctor", "--idle", "300ms", "--", program, "--store", store)
		if code != 0 || !strings.Contains(out, "the program opens its store") || !strings.Contains(out, "a session survives a restart") {
			t.Errorf("%s: exit code %d\n%s", store, code, out)
		}
		if _, err := os.Stat(charged); err == nil {
			t.Errorf("%s: the task has run", store)
		}
		// The task still waits.
		if out, code := run(inEnv, "call", program, "charge", "--task"); code != 0 {
			t.Errorf("%s: exit code %d\n%s", store, code, out)
		}
	}
	files, err := os.ReadDir(state)
	if err != nil || len(files) != 2 {
		t.Errorf("files of the store: %v, %v", files, err)
	}
}
