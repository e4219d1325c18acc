package load_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/testkit/bench/internal/load"
)

var idIn = regexp.MustCompile(`"id":(\d{10})`)

func idOf(t *testing.T, body string) string {
	found := idIn.FindStringSubmatch(body)
	if found == nil {
		t.Errorf("no id in %s", body)
		return "0"
	}
	return found[1]
}

// site answers as answer says, given the id.
func site(t *testing.T, kind string, answer func(id string) string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, answer(idOf(t, string(body))))
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func ask(t *testing.T, addr string, reports int) load.Round {
	t.Helper()
	h := load.NewHTTP(load.Handshake().Reported("x", `{}`), load.Site{Addr: addr, Accept: load.AcceptBoth}, 3, reports)
	defer func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()
	round := h.Run(t.Context(), 5*time.Millisecond)
	if round.Requests < 3 {
		t.Errorf("%d requests on 3 connections", round.Requests)
	}
	return round
}

func result(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":{}}` }

func TestHTTP(t *testing.T) {
	t.Parallel()
	round := ask(t, site(t, "application/json", result), 0)
	if round.Wrong != 0 || round.Err != nil || round.Latency.Quantile(0.5) <= 0 || round.PerSecond() <= 0 {
		t.Errorf("%d wrong, %v", round.Wrong, round.Err)
	}
}

// TestHTTPWrong checks that answers to another request count as wrong. One of three answers is.
func TestHTTPWrong(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	round := ask(t, site(t, "application/json", func(id string) string {
		if n.Add(1)%3 == 0 {
			id = "7777777777"
		}
		return result(id)
	}), 0)
	if want := round.Requests / 3; round.Wrong != want || round.Err == nil {
		t.Errorf("%d of %d are wrong, want %d: %v", round.Wrong, round.Requests, want, round.Err)
	}
}

func report(n int, token string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":3}}`, token, n)
}

func TestHTTPProgress(t *testing.T) {
	t.Parallel()
	event := func(text string) string { return "event: message\ndata: " + text + "\n\n" }
	for name, tt := range map[string]struct {
		order string // digits are reports, r the result
		want  load.Progress
	}{
		"all":          {"123r", load.Progress{Reports: 3}},
		"one lost":     {"13r", load.Progress{Reports: 2, Lost: 1}},
		"one late":     {"12r3", load.Progress{Reports: 3, Late: 1}},
		"out of order": {"132r", load.Progress{Reports: 3, Unsteady: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			round := ask(t, site(t, "text/event-stream", func(id string) string {
				var b strings.Builder
				for _, c := range tt.order {
					if c == 'r' {
						b.WriteString(event(result(id)))
					} else {
						b.WriteString(event(report(int(c-'0'), id)))
					}
				}
				return b.String()
			}), 3)
			n := round.Requests
			want := load.Progress{Reports: n * tt.want.Reports, Lost: n * tt.want.Lost, Late: n * tt.want.Late, Unsteady: n * tt.want.Unsteady}
			if round.Wrong != 0 || round.Progress != want {
				t.Errorf("%+v, want %+v, %v", round.Progress, want, round.Err)
			}
		})
	}
}

// lines serves stdio: answer says what is written for a line.
func lines(t *testing.T, answer func(line string) string) (in io.Writer, out io.Reader) {
	t.Helper()
	requests, w := io.Pipe()
	r, answers := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		scanner := bufio.NewScanner(requests)
		for scanner.Scan() {
			text := answer(scanner.Text())
			if text == "" { // the pipe would wait for who reads nothing
				continue
			}
			if _, err := io.WriteString(answers, text); err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = w.Close()
		_ = r.Close()
		<-done
	})
	return w, r
}

// TestStdio answers the requests of a window in reverse.
func TestStdio(t *testing.T) {
	t.Parallel()
	const depth = 8
	var held []string
	in, out := lines(t, func(line string) string {
		if held = append(held, result(idOf(t, line))+"\n"); len(held) < depth {
			return ""
		}
		var all strings.Builder
		for i := range held {
			all.WriteString(held[len(held)-1-i])
		}
		held = held[:0]
		return all.String()
	})
	s, err := load.NewStdio(load.Handshake().Call("x", `{}`), in, out, depth, 0)
	if err != nil {
		t.Fatal(err)
	}
	round := s.Run(t.Context(), 5*time.Millisecond)
	if round.Wrong != 0 || round.Err != nil || round.Requests < depth || round.Requests%depth != 0 {
		t.Errorf("%d of %d are wrong: %v", round.Wrong, round.Requests, round.Err)
	}
}

// TestStdioEnds has the time be over at each point between two requests: after that nothing
// is waited for that was not asked.
func TestStdioEnds(t *testing.T) {
	t.Parallel()
	in, out := lines(t, func(line string) string { return result(idOf(t, line)) + "\n" })
	s, err := load.NewStdio(load.Handshake().Call("x", `{}`), in, out, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 10 {
		looks := 0
		round := s.Until(func() bool { looks++; return looks > n })
		if round.Err != nil || round.Requests != n+1 {
			t.Errorf("over at look %d: %d requests, %v", n, round.Requests, round.Err)
		}
	}
}

// TestStdioProgress has reports come after the result they belong before, with the next
// answer. Those of a sample are not the round's.
func TestStdioProgress(t *testing.T) {
	t.Parallel()
	late := ""
	in, out := lines(t, func(line string) string {
		id, before := idOf(t, line), late
		late = ""
		if strings.Contains(line, `"ping"`) {
			return before + result(id) + "\n"
		}
		late = report(2, id) + "\n"
		return before + report(1, id) + "\n" + result(id) + "\n"
	})
	s, err := load.NewStdio(load.Handshake().Reported("x", `{}`), in, out, 1, 3)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Sample(); err != nil {
		t.Fatal(err)
	}
	round := s.Run(t.Context(), time.Millisecond)
	n := round.Requests
	if want := (load.Progress{Reports: 2 * n, Lost: n, Late: n}); n == 0 || round.Wrong != 0 || round.Progress != want {
		t.Errorf("%+v, want %+v, %v", round.Progress, want, round.Err)
	}
}

func TestStdioTooMuch(t *testing.T) {
	t.Parallel()
	if _, err := load.NewStdio(load.Handshake().Call("x", `{"t":"`+strings.Repeat("x", 2000)+`"}`), nil, nil, 64, 0); err == nil {
		t.Error("more than a pipe holds would be on its way")
	}
}

func TestLatency(t *testing.T) {
	t.Parallel()
	var l load.Latency
	if got := l.Quantile(0.5); got != 0 {
		t.Errorf("the median of nothing is %v", got)
	}
	for i := range 1000 {
		l.Add(time.Duration(i+1) * time.Microsecond)
	}
	for share, want := range map[float64]time.Duration{0.5: 500 * time.Microsecond, 0.99: 990 * time.Microsecond} {
		if got := l.Quantile(share); got < want*96/100 || got > want*104/100 {
			t.Errorf("%v: %v, want %v", share, got, want)
		}
	}
}
