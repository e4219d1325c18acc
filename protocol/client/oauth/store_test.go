package oauth_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/protocol/client/oauth"
	"github.com/kagami-mcp/kagami/testkit/storetest"
)

// private makes a directory usable by this user only, which temporary directories are not.
func private(t testing.TB, dir string) string {
	t.Helper()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestMemory(t *testing.T) {
	t.Parallel()
	storetest.RunOAuth(t, func(*testing.T) oauth.Store { return oauth.Memory() })
}

func TestFile(t *testing.T) {
	t.Parallel()
	storetest.RunOAuth(t, func(t *testing.T) oauth.Store {
		t.Helper()
		return oauth.File(private(t, t.TempDir()))
	})
	storetest.RunOAuthNodes(t, func(t *testing.T) (a, b oauth.Store) {
		t.Helper()
		dir := private(t, t.TempDir())
		return oauth.File(dir), oauth.File(dir)
	})
}

// TestHelper runs a helper that keeps secrets in files.
func TestHelper(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the helper is a shell script")
	}
	const script = `#!/bin/sh
set -e
name() { printf %s "$1" | cksum | tr -d ' '; }
case $1 in
store) text=$(cat); url=$(printf %s "$text" | sed 's/.*"ServerURL":"\([^"]*\)".*/\1/'); file=$KEPT/$(name "$url"); printf %s "$text" >"$file.new"; mv "$file.new" "$file" ;;
get) file=$KEPT/$(name "$(cat)"); [ -f "$file" ] || { echo "credentials not found in native keychain"; exit 1; }; cat "$file" ;;
erase) rm -f "$KEPT/$(name "$(cat)")" ;;
esac
`
	storetest.RunOAuth(t, func(t *testing.T) oauth.Store {
		t.Helper()
		kept, dir := t.TempDir(), t.TempDir()
		program := filepath.Join(dir, "docker-credential-test")
		if err := os.WriteFile(program, []byte(strings.ReplaceAll(script, "$KEPT", kept)), 0o700); err != nil {
			t.Fatal(err)
		}
		return oauth.Helper(program, private(t, filepath.Dir(program)))
	})
}

// No file of a Helper has a secret.
func TestHelperFilesHaveNoSecret(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the helper is a shell script")
	}
	dir := private(t, t.TempDir())
	program := filepath.Join(t.TempDir(), "docker-credential-none")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ncat >/dev/null\n[ $1 = store ] || { echo credentials not found; exit 1; }\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	k := oauth.Key{Kind: oauth.Tokens, Issuer: "i", Resource: "r"}
	if _, err := oauth.Helper(program, dir).Put(t.Context(), oauth.Record{Key: k, Data: []byte(`{"access_token":"canary"}`)}); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		if text, err := os.ReadFile(filepath.Join(dir, f.Name())); err != nil || bytes.Contains(text, []byte("canary")) {
			t.Errorf("%s: %s, %v", f.Name(), text, err)
		}
	}
}

// TestHelperMessage: if a helper refuses a secret, its message is in the error, unless the message repeats
// the secret. The output of get is not in the error, because it may be a secret.
func TestHelperMessage(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the helper is a shell script")
	}
	program := filepath.Join(t.TempDir(), "docker-credential-small")
	script := "#!/bin/sh\ncat >/dev/null\n[ $1 = store ] && echo 'The stub received bad data.' && exit 1\n[ -f \"$0.found\" ] && echo canary && exit 1\necho credentials not found; exit 1\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	k := oauth.Key{Kind: oauth.Tokens, Issuer: "i", Resource: "r"}
	store := oauth.Helper(program, private(t, t.TempDir()))
	_, err := store.Put(t.Context(), oauth.Record{Key: k, Data: []byte(`{"received":"r"}`)}) // the name is no secret
	if !errors.Is(err, oauth.ErrStore) || !strings.Contains(err.Error(), "The stub received bad data.") {
		t.Errorf("store: %v", err)
	}
	repeating := "#!/bin/sh\n[ $1 = store ] && echo too long: && cat && exit 1\ncat >/dev/null; echo credentials not found; exit 1\n"
	loud := program + "-loud"
	if err := os.WriteFile(loud, []byte(repeating), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err = oauth.Helper(loud, private(t, t.TempDir())).Put(t.Context(), oauth.Record{Key: k, Data: []byte(`{"access_token":"canary-of-a-token"}`)})
	if !errors.Is(err, oauth.ErrStore) || strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "too long") {
		t.Errorf("store with the secret in its message: %v", err)
	}
	if err := os.WriteFile(program+".found", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Get(t.Context(), k); !errors.Is(err, oauth.ErrStore) || strings.Contains(err.Error(), "canary") {
		t.Errorf("get: %v", err)
	}
}

// TestRetryWhileBusy: an operation on a file that another process has open is repeated, for a bounded time.
func TestRetryWhileBusy(t *testing.T) {
	t.Parallel()
	inUse, other := errors.New("in use"), errors.New("other")
	tests := []struct {
		name  string
		busy  int // how many calls find the file in use
		then  error
		want  error
		waits bool
	}{
		{name: "free"},
		{name: "other error", then: other, want: other},
		{name: "free in the end", busy: 3, waits: true},
		{name: "other error in the end", busy: 3, then: other, want: other, waits: true},
		{name: "never free", busy: 1 << 20, want: inUse, waits: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start, calls := time.Now(), 0
				err := oauth.RetryWhileBusy(func(err error) bool { return errors.Is(err, inUse) }, func() error {
					if calls++; calls <= tt.busy {
						return inUse
					}
					return tt.then
				})
				took := time.Since(start)
				if !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
					t.Errorf("got %v, want %v", err, tt.want)
				}
				if took > 3*time.Second || (took > 0) != tt.waits {
					t.Errorf("it took %s with %d calls", took, calls)
				}
			})
		})
	}
}

// TestFile_ReaderDuringPut: records are written while others read them. Windows refuses that for a moment.
func TestFile_ReaderDuringPut(t *testing.T) {
	t.Parallel()
	store := oauth.File(private(t, t.TempDir()))
	k := oauth.Key{Kind: oauth.Tokens, Issuer: "i", Resource: "r"}
	version, err := store.Put(t.Context(), oauth.Record{Key: k, Data: []byte(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		for ctx.Err() == nil {
			if keys, err := store.List(t.Context()); err != nil || len(keys) != 1 {
				done <- fmt.Errorf("%d keys, %w", len(keys), err)
				return
			}
		}
		done <- nil
	}()
	for range 50 {
		if version, err = store.Put(t.Context(), oauth.Record{Key: k, Version: version, Data: []byte(`{}`)}); err != nil {
			t.Error(err)
			break
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Files that others can use, links and records of newer versions are refused with what to do.
func TestFile_WidePermissions(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("permissions are a matter of unix")
	}
	k := oauth.Key{Kind: oauth.Tokens, Issuer: "i", Resource: "r"}
	fresh := filepath.Join(t.TempDir(), "kagami", "auth")
	if _, err := oauth.File(fresh).Put(t.Context(), oauth.Record{Key: k, Data: []byte(`{}`)}); err != nil {
		t.Errorf("in a directory that does not exist: %v", err)
	}
	if info, err := os.Stat(fresh); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the new directory: %v, %v", info, err)
	}
	for name, tt := range map[string]struct {
		spoil func(dir, file string) error
		want  string
	}{
		"a wide directory": {func(dir, _ string) error { return os.Chmod(dir, 0o755) }, "can be used by others"},
		"a wide file":      {func(_, file string) error { return os.Chmod(file, 0o644) }, "can be used by others"},
		"a link": {func(_, file string) error {
			return errors.Join(os.Rename(file, file+".moved"), os.Symlink(file+".moved", file))
		}, "not a regular file"},
		"a newer version": {func(_, file string) error { return rewrite(file, `"v":1`, `"v":2`) }, "newer version"},
		"a newer format": {func(_, file string) error {
			return errors.Join(rewrite(file, `"v":1`, `"v":2`), rewrite(file, `"version":1`, `"version":"1"`))
		}, "newer version"},
		"no version":    {func(_, file string) error { return rewrite(file, `"v":1,`, ``) }, "does not contain a record"},
		"a cut file":    {func(_, file string) error { return os.Truncate(file, 10) }, ".json"},
		"another's key": {func(_, file string) error { return rewrite(file, `"resource":"r"`, `"resource":"s"`) }, "another key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := private(t, t.TempDir())
			s := oauth.File(dir)
			if _, err := s.Put(t.Context(), oauth.Record{Key: k, Data: []byte(`{}`)}); err != nil {
				t.Fatal(err)
			}
			files, err := filepath.Glob(filepath.Join(dir, "*.json"))
			if err != nil || len(files) != 1 {
				t.Fatal(files, err)
			}
			info, err := os.Stat(files[0])
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the file's mode is %v, %v", info.Mode(), err)
			}
			if err := tt.spoil(dir, files[0]); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Get(t.Context(), k); !errors.Is(err, oauth.ErrStore) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Get: %v", err)
			}
			if name == "a wide directory" {
				return
			}
			other := oauth.Key{Kind: oauth.Tokens, Issuer: "i", Resource: "t"}
			if _, err := s.Put(t.Context(), oauth.Record{Key: other, Data: []byte(`{}`)}); err != nil {
				t.Errorf("Put of another record: %v", err)
			}
			if _, err := s.Get(t.Context(), other); err != nil {
				t.Errorf("Get of another record: %v", err)
			}
			keys, err := s.List(t.Context())
			if !slices.Contains(keys, other) || err == nil && len(keys) != 2 || err != nil && !errors.Is(err, oauth.ErrStore) {
				t.Errorf("List: %v, %v", keys, err)
			}
		})
	}
}

// TestFile_OtherServers checks that a record that cannot be read is an error for its own server only.
func TestFile_OtherServers(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(file string) error{
		"a newer version": func(file string) error { return rewrite(file, `"v":1`, `"v":2`) },
		"a cut file":      func(file string) error { return os.Truncate(file, 10) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b, u, dir := open(t), open(t), &user{}, private(t, t.TempDir())
			login := func() *oauth.Flow { return flow(t, u.browser(t), oauth.Keep(oauth.File(dir))) }
			for _, s := range []*shop{a, b} {
				call(t, mustConnect(t, login(), s.url), "hours", "ann")
			}
			files, err := filepath.Glob(filepath.Join(dir, "*.json"))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err == nil && bytes.Contains(text, []byte(`"resource":"`+b.url)) && bytes.Contains(text, []byte(`"kind":"tokens"`)) {
					err = spoil(file)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if call(t, mustConnect(t, login(), a.url), "hours", "ann"); u.seen() != 2 {
				t.Errorf("%d pages", u.seen())
			}
			if _, err := connect(t, login(), b.url); !errors.Is(err, oauth.ErrStore) {
				t.Errorf("the other server: %v", err)
			}
			if grants, err := login().Grants(t.Context()); !errors.Is(err, oauth.ErrStore) || len(grants) != 1 || grants[0].Server != a.url {
				t.Errorf("grants %+v, %v", grants, err)
			}
			if err := login().Logout(t.Context(), b.url); !errors.Is(err, oauth.ErrStore) {
				t.Errorf("logout from the other server: %v", err)
			}
			if err := login().Logout(t.Context(), a.url); err != nil {
				t.Errorf("logout: %v", err)
			}
		})
	}
}

func rewrite(file, from, to string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, bytes.Replace(text, []byte(from), []byte(to), 1), 0o600)
}

// What a process that was killed has left is written over, and removed with the record.
func TestFileHalfWritten(t *testing.T) {
	t.Parallel()
	dir := private(t, t.TempDir())
	s, k := oauth.File(dir), oauth.Key{Kind: oauth.Tokens}
	put := func(version uint64) {
		t.Helper()
		if _, err := s.Put(t.Context(), oauth.Record{Key: k, Version: version, Data: []byte(`{}`)}); err != nil {
			t.Fatal(err)
		}
	}
	put(0)
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	for _, step := range []func(){func() { put(1) }, func() {
		if err := s.Delete(t.Context(), k, 2); err != nil {
			t.Error(err)
		}
	}} {
		if err := os.WriteFile(files[0]+".new", []byte(`{"v":1,"half":`), 0o600); err != nil {
			t.Fatal(err)
		}
		step()
		if _, err := os.Stat(files[0] + ".new"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a half-written file is left: %v", err)
		}
	}
}

// hold is another process: it takes the lock of a renewal, says so and waits.
func hold(dir string) {
	if _, err := oauth.File(dir).Lock(context.Background(), oauth.Key{Kind: oauth.Tokens}); err != nil {
		panic(err)
	}
	_, _ = os.Stdout.WriteString("held\n")
	time.Sleep(time.Minute)
}

// A process that is killed during a renewal locks no other process out.
func TestFileLockEndsWithTheProcess(t *testing.T) {
	t.Parallel()
	dir := private(t, t.TempDir())
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "KAGAMI_OAUTH_TEST_HOLD="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "held\n" {
		t.Fatalf("%q, %v", line, err)
	}
	s, k := oauth.File(dir), oauth.Key{Kind: oauth.Tokens}
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := s.Lock(short, k); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while another process has it: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	unlock, err := s.Lock(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}
