package testkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kagami-mcp/kagami/framework/rehearsal"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// callRules are about calls that run.
func callRules() []rule {
	return []rule{
		{
			number: "call-1", source: "schema, CallToolResult", text: "The result of a tool has content, in blocks of types that there are, and one that succeeds no isError.",
			check: func(w *probe) error { _, err := w.toolResult(guestSteps, false); return err },
		},
		{
			number: "call-2", source: "server/tools, \"Structured Content\"", text: "A tool with an output schema answers with structured content that conforms to it, and with the same as text.",
			at: (*dialect.Dialect).StructuredContent, check: structuredTwice,
		},
		{
			number: "call-3", source: "server/tools, \"Error Handling\"", text: "What goes wrong in a tool is a result with isError and content, no error of the protocol.",
			check: func(w *probe) error { _, err := w.toolResult(guestFail, true); return err },
		},
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

// progressRules are about what is said of a call, and about its end before its time.
func progressRules() []rule {
	return []rule{
		{
			number: "progress-1", source: "basic, progress", text: "Progress carries the token of its request in its JSON type, and rises.",
			check: progresses,
		},
		{
			number: "progress-2", source: "basic, progress", text: "No progress is told to who gave no token.",
			check: func(w *probe) error {
				if _, err := w.toolResult(guestSteps, false); err != nil {
					return err
				}
				return w.untold(protocol.NotificationProgress)
			},
		},
		{
			number: "progress-3", source: "basic, progress", text: "Nothing is said of a call after its response.",
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
func logRules() []rule {
	return []rule{
		{
			number: "logging-2", source: "server/utilities/logging", text: "Messages below the level that was set are not sent, others are.",
			at: func(d *dialect.Dialect) bool { return !d.LogLevelPerRequest() }, check: func(w *probe) error {
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
			at: (*dialect.Dialect).LogLevelPerRequest, check: func(w *probe) error {
				if !w.declared("logging") {
					return errNoSubject
				}
				w.extra = `"io.modelcontextprotocol/logLevel":"error"`
				return w.logs("testkit: error")
			},
		},
		{
			number: "logging-4", source: "server/utilities/logging", text: "A request that names no log level gets no messages.",
			at: (*dialect.Dialect).LogLevelPerRequest, check: func(w *probe) error { return w.logs() },
		},
	}
}

// callOf returns the params of a tool call.
func callOf(name, arguments string) string {
	return fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, arguments)
}

func ticketOf(ticket string) string { return fmt.Sprintf(`{"ticket":%q}`, ticket) }

// toolResult calls a guest, which must fail or not, and checks the form of the result.
func (w *probe) toolResult(name string, fails bool) (json.RawMessage, error) {
	r, err := w.served("tools/call", callOf(name, "{}"))
	if err != nil {
		return nil, err
	}
	content, _ := jsontext.Member(r.Result, "content")
	failed, _ := jsontext.Member(r.Result, "isError")
	switch {
	case jsontext.KindOf(content) != jsontext.KindArray:
		err = errors.New("want content")
	case !blocks(content):
		err = errors.New("want content of text, images, audio, resources or links")
	case (string(failed) == "true") != fails:
		err = fmt.Errorf("want isError to be %t", fails)
	}
	return r.Result, err
}

// blocks reports whether all items of content have known types.
func blocks(content json.RawMessage) bool {
	var all []struct{ Type string }
	err := json.Unmarshal(content, &all)
	return err == nil && !slices.ContainsFunc(all, func(b struct{ Type string }) bool {
		return !slices.Contains([]string{"text", "image", "audio", "resource", "resource_link"}, b.Type)
	})
}

func structuredTwice(w *probe) error {
	result, err := w.toolResult(guestSteps, false)
	if err != nil {
		return err
	}
	structured, _ := jsontext.Member(result, "structuredContent")
	if string(jsontext.Compact(nil, structured)) != `{"steps":3}` {
		return errors.New(`want structuredContent {"steps":3}`)
	}
	var found struct{ Content []struct{ Type, Text string } }
	if json.Unmarshal(result, &found) != nil || len(found.Content) == 0 || !sameJSON(structured, []byte(found.Content[0].Text)) {
		return errors.New("want the structured content as text")
	}
	return w.conforms(guestSteps, structured)
}

// conforms judges structured content by the output schema in the target's list.
func (w *probe) conforms(name string, structured json.RawMessage) error {
	return w.tools(func(tool json.RawMessage) error {
		quoted, _ := jsontext.Member(tool, "name")
		schema, has := jsontext.Member(tool, "outputSchema")
		if listed, _ := jsontext.String(quoted); listed != name || !has {
			return nil
		}
		check, err := rehearsal.Schema(schema)
		if err == nil {
			err = check(structured)
		}
		return err
	})
}

// begin calls a tool that waits, and returns when it does.
func (w *probe) begin() (id int, v *visit, err error) {
	ticket, v := w.guest.expect()
	if err := w.send(w.request("tools/call", callOf(guestWait, ticketOf(ticket)))); err != nil {
		return 0, nil, err
	}
	return w.id, v, w.runs(v)
}

// runs waits until the handler of the last call is running. If the response comes first, the
// handler will never run.
func (w *probe) runs(v *visit) error {
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
func (w *probe) idle() error {
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
func (w *probe) answered(id int) error {
	r, err := w.answer()
	if err == nil && (string(r.ID) != strconv.Itoa(id) || r.Result == nil) {
		err = fmt.Errorf("want the result of request %d", id)
	}
	return err
}

func interleaved(w *probe) error {
	id, v, err := w.begin()
	if err != nil {
		return err
	}
	return errors.Join(w.idle(), v.leaves(w.ctx), w.answered(id))
}

func sameID(w *probe) error {
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

func progresses(w *probe) error {
	for _, token := range []string{`"seven"`, "7"} {
		w.extra, w.heard = `"progressToken":`+token, nil
		if _, err := w.toolResult(guestSteps, false); err != nil {
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

// untold checks that no notification of a method came.
func (w *probe) untold(method string) error {
	for _, n := range w.heard {
		if n.Method == method {
			return fmt.Errorf("want no %s: %s", method, n.Params)
		}
	}
	return nil
}

// silentAfter checks that nothing follows a call that has sent progress and logs.
func silentAfter(w *probe) error {
	w.extra = `"progressToken":1`
	if w.dialect.LogLevelPerRequest() {
		w.extra += `,"io.modelcontextprotocol/logLevel":"debug"`
	}
	if _, err := w.toolResult(guestSteps, false); err != nil {
		return err
	}
	w.extra = ""
	return w.idle()
}

func (w *probe) cancel(id int) error {
	return w.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
}

func cancels(w *probe) error {
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

func cancelsNothing(w *probe) error {
	if _, err := w.toolResult(guestSteps, false); err != nil {
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
func (w *probe) logs(want ...string) error {
	if _, err := w.toolResult(guestSteps, false); err != nil {
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
