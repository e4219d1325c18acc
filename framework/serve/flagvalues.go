package serve

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/mattn/go-isatty"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
)

// listFlag is a list of values, separated by commas or given by repeating the flag.
type listFlag []string

// String returns the values.
func (l *listFlag) String() string { return strings.Join(*l, ",") }

// Set adds values.
func (l *listFlag) Set(text string) error {
	for value := range strings.SplitSeq(text, ",") {
		if value = strings.TrimSpace(value); value != "" {
			*l = append(*l, value)
		}
	}
	return nil
}

// sizeFlag is a number of bytes.
type sizeFlag int

// String returns the number.
func (s *sizeFlag) String() string { return strconv.Itoa(int(*s)) }

// Set parses a number with or without KB, MB or GB, which are powers of 1024.
func (s *sizeFlag) Set(text string) error {
	number, shift := strings.ToUpper(strings.TrimSpace(text)), 0
	for i, unit := range []string{"KB", "MB", "GB"} {
		if rest, ok := strings.CutSuffix(number, unit); ok {
			number, shift = strings.TrimSpace(rest), 10*(i+1)
		}
	}
	n, err := strconv.Atoi(number)
	if err != nil || n <= 0 || n > math.MaxInt32>>shift {
		return errors.New("want a size such as 8MB, less than 2GB")
	}
	*s = sizeFlag(n << shift)
	return nil
}

// levelFlag is the log level, if one was given.
type levelFlag struct {
	given bool
	level zapcore.Level
}

// String returns the level, or "" if none was given.
func (l *levelFlag) String() string {
	if !l.given {
		return ""
	}
	return l.level.String()
}

// Set parses the name of a level.
func (l *levelFlag) Set(text string) error {
	switch strings.ToLower(text) {
	case "debug", "info", "warn", "error":
		l.given = true
		return l.level.Set(text)
	}
	return errors.New("want debug, info, warn or error")
}

// setSessionIdle sets --session-idle. The error of package flag would not say how a time is written.
func (f *flags) setSessionIdle(text string) error {
	idle, err := time.ParseDuration(text)
	if err != nil {
		return errors.New("want a time such as 30m")
	}
	f.sessionIdle = idle
	return nil
}

// address completes and checks --http. A host without a port gets the port from PORT, which some
// platforms set for a container.
func (f *flags) address() error {
	host, bare := f.http, !strings.Contains(f.http, ":")
	if inner, ok := strings.CutPrefix(host, "["); ok && strings.HasSuffix(inner, "]") { // a host of IPv6
		host, bare = strings.TrimSuffix(inner, "]"), true
	}
	if bare && strings.Trim(host, "0123456789") != "" {
		f.http = net.JoinHostPort(host, cmp.Or(os.Getenv("PORT"), "8080"))
	}
	if _, _, err := net.SplitHostPort(f.http); err != nil {
		return usagef("--http %s: want HOST:PORT or :PORT, which is this machine only", strconv.Quote(f.http))
	}
	return nil
}

// aboutHTTP are the flags that need --http. They follow it in settingsTable.
var aboutHTTP = []string{"allow-host", "allow-origin", "tls-cert", "tls-key", "session-idle", "body-limit"}

// overHTTP checks the flags about HTTP, and the format of the log. given has the names of the flags
// on the command line.
func (f *flags) overHTTP(given map[string]bool) error {
	if f.http == "" {
		for _, name := range aboutHTTP {
			if given[name] {
				return usagef("--%s is about HTTP: give --http, too", name)
			}
		}
		f.tlsCert, f.tlsKey, f.sessionIdle = "", "", 0 // of variables beside --worker
	}
	switch f.logFormat {
	case "", "json", "console":
	default:
		return usagef("--log-format %s: want json or console", strconv.Quote(f.logFormat))
	}
	if (f.tlsCert == "") != (f.tlsKey == "") {
		return usagef("--tls-cert and --tls-key belong together")
	}
	if f.sessionIdle < 0 {
		return usagef("--session-idle %v: want a time such as 30m", f.sessionIdle)
	}
	return nil
}

// reach returns a warning that other machines reach the server, or "" if they cannot.
func (f *flags) reach(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || tcp.IP.IsLoopback() {
		return ""
	}
	names := "the names that the program allows"
	if len(f.allowHosts) > 0 {
		names = strings.Join(f.allowHosts, ", ")
	}
	return "Other machines reach this server, under " + names + ".\n"
}

// httpOptions returns the options for HTTP that the flags set. They apply after the program's
// options.
func (f *flags) httpOptions() ([]fiberhttp.Option, error) {
	options := []fiberhttp.Option{fiberhttp.AllowedHosts(f.allowHosts...), fiberhttp.AllowedOrigins(f.allowOrigins...)}
	if f.sessionIdle > 0 {
		options = append(options, fiberhttp.SessionIdle(f.sessionIdle))
	}
	if f.bodyLimit > 0 {
		options = append(options, fiberhttp.BodyLimit(int(f.bodyLimit)))
	}
	if f.tlsCert != "" {
		certificate, err := tls.LoadX509KeyPair(f.tlsCert, f.tlsKey)
		if err != nil {
			return nil, fmt.Errorf("reading --tls-cert and --tls-key: %w", err)
		}
		options = append(options, fiberhttp.TLS(&tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}))
	}
	return options, nil
}

// log sets the app's logger if the flags configure the log. It also does so if the app has no logger
// of its own, and standard error is a terminal or was replaced by Streams.
func (s *settings) log(app *framework.App, f *flags) {
	asked := f.logLevel.given || f.logFormat != ""
	onTerminal := !s.own && isatty.IsTerminal(os.Stderr.Fd())
	if !asked && (app.HasLogger() || !onTerminal && !s.own) {
		return
	}
	encoder := zap.NewProductionEncoderConfig()
	encoder.EncodeTime = zapcore.ISO8601TimeEncoder
	encoding := zapcore.NewJSONEncoder(encoder)
	if f.logFormat == "console" || f.logFormat == "" && onTerminal {
		encoder.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05")
		encoder.EncodeLevel = zapcore.CapitalLevelEncoder
		encoding = zapcore.NewConsoleEncoder(encoder)
	}
	app.UseLogger(zap.New(zapcore.NewCore(encoding, zapcore.Lock(zapcore.AddSync(s.errs)), f.logLevel.level)))
}
