package testkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
)

// flightRules are about requests that run at the same time.
func flightRules() []kagamiRule {
	return []kagamiRule{
		{
			number: "call-4", source: "basic", text: "While one request is served others are answered.",
			check: interleaved,
		},
		{
			number: "call-5", source: "basic", text: "The id of a request in flight cannot be given again: the second is refused with -32600, the first goes on.",
			check: sameID,
		},
	}
}

// progressRules are about progress and cancellation of calls.
func progressRules() []kagamiRule {
	return []kagamiRule{
		{
			number: "progress-1", source: "basic, progress", text: "Progress carries the token of its request in its JSON type, and rises.",
			check: progresses,
		},
		{
			number: "progress-2", source: "basic, progress", text: "A request without a progress token gets no progress.",
			check: func(w *visitor) error {
				if _, err := w.calls(toolSteps, false); err != nil {
					return err
				}
				return w.unheard(protocol.NotificationProgress)
			},
		},
		{
			number: "progress-3", source: "basic, progress", text: "No notification of a call follows its response.",
			check: silentAfter,
		},
		{
			number: "cancel-1", source: "basic, cancellation", text: "A call that is cancelled ends, and is not answered.",
			check: cancels,
		},
		{
			number: "cancel-2", source: "basic, cancellation", text: "Cancelling what has ended, or never was, changes nothing.",
			check: cancelsNothing,
		},
	}
}

// logRules are about messages of calls.
func logRules() []kagamiRule {
	return []kagamiRule{
		{
			number: "logging-2", source: "server/utilities/logging", text: "Messages below the level that was set are not sent, others are.",
			at: func(d *dialect.Dialect) bool { return !d.LogLevelPerRequest() }, check: func(w *visitor) error {
				if !w.declared("logging") {
					return errNoSubject
				}
				if _, err := w.served("logging/setLevel", `{"level":"error"}`); err != nil {
					return err
				}
				return w.logs("testkit: error")
			},
		},
		{
			number: "logging-3", source: "server/utilities/logging", text: "A request that names a log level gets messages of that level and above.",
			at: (*dialect.Dialect).LogLevelPerRequest, check: func(w *visitor) error {
				if !w.declared("logging") {
					return errNoSubject
				}
				w.extra = `"io.modelcontextprotocol/logLevel":"error"`
				return w.logs("testkit: error")
			},
		},
		{
			number: "logging-4", source: "server/utilities/logging", text: "A request without a log level gets no messages.",
			at: (*dialect.Dialect).LogLevelPerRequest, check: func(w *visitor) error { return w.logs() },
		},
	}
}

// callOf returns the params of a tool call.
func callOf(name, arguments string) string {
	return fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, arguments)
}

func ticketOf(ticket string) string { return fmt.Sprintf(`{"ticket":%q}`, ticket) }

// begin calls a tool that waits, and returns when it does.
func (w *visitor) begin() (id int, v *visit, err error) {
	ticket, v := w.guest.expect()
	if err := w.send(w.request("tools/call", callOf(guestWait, ticketOf(ticket)))); err != nil {
		return 0, nil, err
	}
	return w.id, v, w.runs(v)
}

// runs waits until the handler of the last call is running. If the response comes first, the
// handler will never run.
func (w *visitor) runs(v *visit) error {
	ctx, stop := context.WithCancel(w.ctx)
	defer stop()
	go func() {
		defer stop()
		select {
		case <-v.began:
		case <-ctx.Done():
		}
	}()
	for {
		got, err := w.conn.Read(ctx)
		if err != nil {
			return v.begun(err)
		}
		r, err := w.parse(got)
		switch {
		case err != nil:
			return err
		case r.Method == "":
			return errNotRun
		}
		w.heard = append(w.heard, r)
	}
}

// idle checks that nothing comes before the answers to other requests.
func (w *visitor) idle() error {
	before := len(w.heard)
	for range 2 { // the frame that must not come may be late
		r, err := w.served(w.alive(), "{}")
		switch {
		case err != nil:
			return err
		case string(r.ID) != strconv.Itoa(w.id):
			return errors.New("want no other answer")
		case len(w.heard) > before:
			return fmt.Errorf("want nothing before the answer, there was %s", w.heard[before].Method)
		}
	}
	return nil
}

// answered reads the response to a request that was begun.
func (w *visitor) answered(id int) error {
	r, err := w.answer()
	if err == nil && (string(r.ID) != strconv.Itoa(id) || r.Result == nil) {
		err = fmt.Errorf("want the result of request %d", id)
	}
	return err
}

func interleaved(w *visitor) error {
	id, v, err := w.begin()
	if err != nil {
		return err
	}
	return errors.Join(w.idle(), v.leaves(w.ctx), w.answered(id))
}

func sameID(w *visitor) error {
	id, v, err := w.begin()
	if err != nil {
		return err
	}
	w.id--
	r, err := w.ask(w.alive(), "{}")
	if err == nil {
		err = oneOf(r, jsonrpc.CodeInvalidRequest)
	}
	if ended := v.leaves(w.ctx); err != nil || ended != nil {
		return errors.Join(err, ended)
	}
	return w.answered(id)
}

func progresses(w *visitor) error {
	for _, token := range []string{`"seven"`, "7"} {
		w.extra, w.heard = `"progressToken":`+token, nil
		if _, err := w.calls(toolSteps, false); err != nil {
			return err
		}
		last := 0.0
		for _, n := range w.heard {
			var p struct {
				Token    json.RawMessage `json:"progressToken"`
				Progress float64         `json:"progress"`
			}
			if n.Method != protocol.NotificationProgress {
				continue
			}
			if json.Unmarshal(n.Params, &p) != nil || string(p.Token) != token || p.Progress <= last {
				return fmt.Errorf("want progress with token %s, and more than %v: %s", token, last, n.Params)
			}
			last = p.Progress
		}
		if last != 3 {
			return fmt.Errorf("want progress up to 3, before the response: it came to %v", last)
		}
	}
	return nil
}

// unheard checks that no notification of a method came.
func (w *visitor) unheard(method string) error {
	for _, n := range w.heard {
		if n.Method == method {
			return fmt.Errorf("want no %s: %s", method, n.Params)
		}
	}
	return nil
}

// silentAfter checks that nothing follows a call that has sent progress and logs.
func silentAfter(w *visitor) error {
	w.extra = `"progressToken":1`
	if w.dialect.LogLevelPerRequest() {
		w.extra += `,"io.modelcontextprotocol/logLevel":"debug"`
	}
	if _, err := w.calls(toolSteps, false); err != nil {
		return err
	}
	w.extra = ""
	return w.idle()
}

func (w *visitor) cancel(id int) error {
	return w.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
}

func cancels(w *visitor) error {
	id, v, err := w.begin()
	if err == nil {
		err = w.cancel(id)
	}
	if err == nil {
		err = v.cancelled(w.ctx)
	}
	if err != nil {
		return err
	}
	return w.idle()
}

func cancelsNothing(w *visitor) error {
	if _, err := w.calls(toolSteps, false); err != nil {
		return err
	}
	ended := w.id
	id, v, err := w.begin()
	if err == nil {
		err = errors.Join(w.cancel(ended), w.cancel(id+1000))
	}
	if err != nil {
		return err
	}
	return errors.Join(w.idle(), v.leaves(w.ctx), w.answered(id))
}

// logs checks which log messages a call sends.
func (w *visitor) logs(want ...string) error {
	if _, err := w.calls(toolSteps, false); err != nil {
		return err
	}
	var got []string
	for _, n := range w.heard {
		if n.Method == protocol.NotificationMessage {
			got = append(got, string(n.Params))
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("want messages %q: %s", want, got)
	}
	for i, text := range want {
		var message struct{ Level, Data json.RawMessage }
		if json.Unmarshal([]byte(got[i]), &message) != nil || message.Level == nil || !strings.Contains(string(message.Data), text) {
			return fmt.Errorf("want a message with level and data %q: %s", text, got[i])
		}
	}
	return nil
}
