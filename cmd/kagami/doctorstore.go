package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/cmd/kagami/internal/bridge"
	"github.com/kagami-mcp/kagami/cmd/kagami/internal/group"
)

// settings checks how the program of the server is configured: whether it serves stdio, and its
// store. It reports whether the server can be checked further, and returns the words that start it
// without its store.
func (p *diagnosis) settings(ctx context.Context, program *exec.Cmd) (words []string, ok bool) {
	args, environment := program.Args[1:], append(os.Environ(), p.cli.serverEnv...)
	address := settingOf("http", args, environment)
	store := settingOf("store", args, environment)
	words = slices.Clip(program.Args)
	p.cli.looks = true
	if address == "" && store == "" {
		return words, true
	}
	if _, err := p.cli.ownReport(ctx, program); err != nil {
		return words, true // the flag or the variable may belong to a program without package serve
	}
	if address != "" && !slices.Contains(args, "--stdio") {
		p.finds("start", "it serves HTTP on %s and not stdio: start it and check its URL, or remove --http (KAGAMI_HTTP)", address)
		return nil, false
	}
	if store != "" && !p.store(ctx, words, store) {
		return nil, false
	}
	if settingOf("store", args, nil) != "" { // it has precedence over the environment
		words = append(words, "--store", "memory:")
	}
	return words, true
}

// store checks whether the program can open its store, and whether a session survives a restart. It
// reports whether the server can be checked further.
func (p *diagnosis) store(ctx context.Context, words []string, address string) bool {
	beside := besideStore(address)
	if beside == "" {
		p.fine("the store was not tried, because the program would run the tasks that wait in it")
		return true
	}
	if path, ok := strings.CutPrefix(beside, "file:"); ok {
		path = strings.TrimPrefix(path, "//")
		if drive := strings.TrimPrefix(path, "/"); filepath.VolumeName(drive) != "" { // file:///C:/state.db
			path = drive
		}
		path = p.cli.inServerDir(path)
		defer func() { _, _ = os.Remove(path), os.Remove(path+".events") }()
	}
	first, err := p.serve(ctx, words, beside)
	if err != nil {
		inMemory, other := p.serve(ctx, words, "memory:")
		if other != nil {
			return true // the store is not the cause
		}
		inMemory.stop()
		p.finds("store", "the program cannot open its store: %v", err)
		return false
	}
	first.stop()
	p.fine("the program opens its store")
	p.persistence(ctx, address)
	id := first.hello.header.Get("Mcp-Session-Id")
	if id == "" {
		p.fine("a restart was not tried, because the server wants a login over HTTP")
		return true
	}
	second, err := p.serve(ctx, words, beside)
	if err != nil {
		p.finds("store", "the program cannot open its store again after a restart: %v", err)
		return false
	}
	defer second.stop()
	p.survives(ctx, second.client, id)
	return true
}

// besideStore returns the URL of a store at the same place as another: it has other keys in Redis, or
// is another file. For stores that kagami does not know, it returns "".
func besideStore(address string) string {
	scheme, rest, _ := strings.Cut(address, ":")
	u, err := url.Parse(address)
	switch {
	case scheme == "file" && strings.Trim(rest, "/") != "":
		return fmt.Sprintf("%s.doctor%d", address, os.Getpid())
	case scheme == "memory", scheme == "file", err != nil:
		return address // the program keeps nothing there, or reports what is wrong
	case !slices.Contains([]string{"redis", "rediss", "unix"}, scheme):
		return ""
	}
	query := u.Query()
	query.Set("prefix", cmp.Or(query.Get("prefix"), "kagami:")+"doctor:") // a right to keys that begin with the prefix includes these
	u.RawQuery = query.Encode()
	return u.String()
}

// inServerDir returns a path as kagami uses it, for a path that the server's program uses.
func (a *cli) inServerDir(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(a.serverDir, path)
}

// survives checks whether a process knows a session of an earlier process, and ends the session.
func (p *diagnosis) survives(ctx context.Context, second *diagnosis, id string) {
	fields := map[string]string{"Mcp-Session-Id": id, "MCP-Protocol-Version": "2025-11-25"}
	answer, err := second.post(ctx, pingOld, fields)
	switch {
	case err != nil || answer.status == http.StatusNotFound:
		p.finds("restart", "a session is lost when the server restarts, although a store is configured")
		return
	case answer.status < http.StatusBadRequest:
		p.fine("a session survives a restart of the server")
	}
	if request, err := second.request(ctx, http.MethodDelete, http.NoBody, fields); err == nil {
		_, _ = second.send(request) // the session expires by itself otherwise
	}
}

// settingOf returns the value of a flag that package serve takes from the arguments and the
// environment, or "".
func settingOf(name string, args, environment []string) string {
	for i, arg := range args {
		given, value, inline := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch {
		case given != name || !strings.HasPrefix(arg, "-"):
		case inline:
			return value
		case i+1 < len(args):
			return args[i+1]
		}
	}
	variable := "KAGAMI_" + strings.ToUpper(name)
	for _, pair := range slices.Backward(environment) { // the last one counts
		set, value, _ := strings.Cut(pair, "=")
		if set == variable || runtime.GOOS == "windows" && strings.EqualFold(set, variable) {
			return value
		}
	}
	return ""
}

// process is a running program that serves HTTP for the checks.
type process struct {
	client *diagnosis // sends requests to the program
	cmd    *exec.Cmd
	ended  chan struct{} // closed when the program has ended
	hello  reply         // the response to helloOld
}

// serve starts the program with a store on a free port of this machine, and waits until it answers.
// The error has the program's log.
func (p *diagnosis) serve(ctx context.Context, words []string, store string) (*process, error) {
	address, err := bridge.FreeAddress()
	if err != nil {
		return nil, err
	}
	cmd, _, err := p.cli.program(ctx, append(slices.Clip(words), "--http", address))
	if err != nil {
		return nil, err
	}
	if settingOf("store", words[1:], nil) != "" {
		cmd.Args = append(cmd.Args, "--store", store)
		useCmdExe(cmd)
	} else { // other users of the machine cannot read a password in the environment
		cmd.Env = append(cmd.Environ(), "KAGAMI_STORE="+store)
	}
	log := &serverLog{keep: keptLines}
	cmd.Stderr, cmd.WaitDelay = log, time.Second
	group.Set(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &process{cmd: cmd, ended: make(chan struct{})}
	s.client = &diagnosis{cli: p.cli, server: []string{"http://" + address + "/mcp"}, bearer: p.bearer, http: p.http}
	go func() {
		_ = cmd.Wait() // the log says why it ended
		close(s.ended)
	}()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if s.hello, err = s.client.post(ctx, helloOld, nil); err == nil {
			return s, nil
		}
		select {
		case <-s.ended:
			return nil, errors.New("the program ended" + log.unseen())
		case <-ctx.Done():
			s.stop()
			return nil, fmt.Errorf("the program did not answer within %s%s", patience, log.unseen())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop ends the program in order. If the program does not end, stop kills it.
func (s *process) stop() { group.End(s.cmd, s.ended, patience) }

// persistence checks whether Redis writes to disk and keeps every key. Services that run Redis for
// their customers often refuse CONFIG; then nothing is reported.
func (p *diagnosis) persistence(ctx context.Context, address string) {
	settings, err := redisSettings(ctx, address, "appendonly", "save", "maxmemory-policy")
	if err != nil {
		return
	}
	if settings["appendonly"] == "no" {
		loses := "the changes since its last snapshot"
		if settings["save"] == "" {
			loses = "everything"
		}
		p.finds("persistence", "Redis loses %s when it ends unexpectedly: appendonly is \"no\"", loses)
	}
	if policy := settings["maxmemory-policy"]; policy != "noeviction" {
		p.finds("persistence", "Redis removes sessions and tasks when its memory is full: maxmemory-policy is %s", policy)
	}
}

// redisSettings asks the Redis at a URL for its settings. It writes plain commands, because a
// library for Redis would be larger than this program needs.
func redisSettings(ctx context.Context, address string, names ...string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	raw, err := dialRedis(ctx, u)
	if err != nil {
		return nil, err
	}
	defer func() { _ = raw.Close() }()
	defer context.AfterFunc(ctx, func() { _ = raw.Close() })()
	conn := textproto.NewConn(raw)
	if password, ok := u.User.Password(); ok {
		if err := conn.PrintfLine("AUTH %q %q", cmp.Or(u.User.Username(), "default"), password); err != nil {
			return nil, err
		}
		if line, err := conn.ReadLine(); err != nil || line != "+OK" {
			return nil, fmt.Errorf("got %q: %w", line, cmp.Or(err, errors.ErrUnsupported))
		}
	}
	settings := map[string]string{}
	for _, name := range names {
		if settings[name], err = redisSetting(conn, name); err != nil {
			return nil, err
		}
	}
	return settings, nil
}

func dialRedis(ctx context.Context, u *url.URL) (net.Conn, error) {
	at := net.JoinHostPort(cmp.Or(u.Hostname(), "localhost"), cmp.Or(u.Port(), "6379"))
	switch u.Scheme {
	case "redis":
		return (&net.Dialer{}).DialContext(ctx, "tcp", at)
	case "rediss":
		return (&tls.Dialer{}).DialContext(ctx, "tcp", at)
	case "unix":
		return (&net.Dialer{}).DialContext(ctx, "unix", u.Path)
	}
	return nil, errors.ErrUnsupported
}

// redisSetting returns the value of one setting. The response is a list of the name and the value,
// each after a line with its length.
func redisSetting(conn *textproto.Conn, name string) (string, error) {
	if err := conn.PrintfLine("CONFIG GET %s", name); err != nil {
		return "", err
	}
	var lines [5]string
	for i := range lines {
		line, err := conn.ReadLine()
		if err != nil {
			return "", err
		}
		if i == 0 && line != "*2" {
			return "", errors.ErrUnsupported
		}
		lines[i] = line
	}
	return lines[4], nil
}
