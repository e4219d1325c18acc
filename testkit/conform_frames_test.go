package testkit

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// frameRules are about the forms of frames. Kagami decides on them before a step of an app runs.
func frameRules() []kagamiRule {
	return []kagamiRule{
		{
			number: "base-3", source: "basic", text: "A request id is never null.",
			check: func(w *visitor) error {
				return w.refusedFrame(fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"method":%q,"params":%s}`, w.alive(), w.withMeta("{}")), jsonrpc.CodeInvalidRequest)
			},
		},
		{
			number: "base-7", source: "basic", text: "A batch is answered with the responses to its requests.",
			at: (*dialect.Dialect).Batches, check: batch,
		},
		{
			number: "base-8", source: "basic/transports", text: "A frame is one message; arrays are refused.",
			at: func(d *dialect.Dialect) bool { return !d.Batches() && (perRequest(d) || d.StructuredContent()) },
			check: func(w *visitor) error {
				return w.refusedFrame(fmt.Sprintf(`[{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}]`, w.alive(), w.withMeta("{}")), jsonrpc.CodeInvalidRequest)
			},
		},
	}
}

// protocolRules are about versions and about requests that no component serves.
func protocolRules() []kagamiRule {
	return []kagamiRule{
		{
			number: "version-2", source: "basic/lifecycle", text: "An unknown version is answered with a supported one, not with an error.",
			at: (*dialect.Dialect).Handshake, fresh: true, check: offers,
		},
		{
			number: "version-3", source: "basic/utilities/ping", text: "A ping is answered with an empty result.",
			at: (*dialect.Dialect).Handshake, check: pong,
		},
		{
			number: "version-4", source: "basic, \"_meta\"", text: "A request without protocolVersion or clientCapabilities in _meta is refused with -32602.",
			at: perRequest, check: incomplete,
		},
		{
			number: "version-5", source: "basic/versioning", text: "An unsupported version is refused with -32022, which lists the supported versions and repeats the requested one.",
			at: perRequest, check: unsupported,
		},
		{
			number: "version-7", source: "changelog", text: "Methods that the revision has removed are unknown: -32601.",
			at: perRequest, check: abandoned,
		},
		{
			number: "logging-1", source: "server/utilities/logging", text: "An invalid level is refused with -32602, a valid one is acknowledged.",
			at: func(d *dialect.Dialect) bool { return !d.LogLevelPerRequest() }, check: levels,
		},
		{
			number: "subscription-1", source: "basic/patterns/subscriptions", text: "The first message of a subscription acknowledges it, with the id of the request in its JSON type.",
			at: (*dialect.Dialect).ListenStream, check: acknowledged,
		},
	}
}

func batch(w *visitor) error {
	if err := w.send(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/testkit"},{"jsonrpc":"2.0","id":"b","method":"ping"}]`); err != nil {
		return err
	}
	var ids []string
	for len(ids) < 2 {
		got, err := w.conn.Read(w.ctx)
		if err != nil {
			return fmt.Errorf("no answer: %w", err)
		}
		w.got = got
		var many []response
		if json.Unmarshal(got, &many) != nil { // responses may come one by one
			many = make([]response, 1)
			if err := json.Unmarshal(got, &many[0]); err != nil {
				return err
			}
		}
		for _, r := range many {
			ids = append(ids, string(r.ID))
		}
	}
	slices.Sort(ids)
	if all := strings.Join(ids, " "); all != `"b" 1` {
		return fmt.Errorf("want responses to 1 and b, got %s", all)
	}
	return nil
}

// offers checks the answer to initialize with an unknown version.
func offers(w *visitor) error {
	r, err := w.initialize("1999-01-01")
	if err != nil {
		return err
	}
	version, _ := jsontext.Member(r.Result, "protocolVersion")
	if got, _ := jsontext.String(version); !dialect.KnownHandshake(got) {
		return errors.New("want another protocolVersion")
	}
	if caps, _ := jsontext.Member(r.Result, "capabilities"); !isObject(caps) {
		return errors.New("want capabilities")
	}
	server, _ := jsontext.Member(r.Result, "serverInfo")
	return identified(server)
}

// pong sends a ping.
func pong(w *visitor) error {
	r, err := w.served("ping", "{}")
	if err == nil && jsontext.Len(r.Result) != 0 {
		err = errors.New("want {}")
	}
	return err
}

// incomplete leaves out what every request must carry.
func incomplete(w *visitor) error {
	whole := w.meta(w.dialect.String())
	for _, part := range []string{`"io.modelcontextprotocol/protocolVersion":"` + w.dialect.String() + `",`, `,"io.modelcontextprotocol/clientCapabilities":{}`} {
		r, err := w.exchange(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":` + strings.Replace(whole, part, "", 1) + `}}`)
		if err == nil {
			err = oneOf(r, jsonrpc.CodeInvalidParams)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func unsupported(w *visitor) error {
	const version = "1999-01-01"
	r, err := w.exchange(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":` + w.meta(version) + `}}`)
	if err != nil {
		return err
	}
	if err := oneOf(r, codeUnsupportedVersion); err != nil {
		return err
	}
	var data struct {
		Supported []string
		Requested string
	}
	if json.Unmarshal(r.Error.Data, &data) != nil || data.Requested != version || !slices.Contains(data.Supported, w.dialect.String()) {
		return errors.New("want data with supported and requested")
	}
	return nil
}

// abandoned calls methods of older revisions.
func abandoned(w *visitor) error {
	for _, method := range []string{"ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "tasks/list", "tasks/result"} {
		if err := w.refused(method, "{}", jsonrpc.CodeMethodNotFound); err != nil {
			return err
		}
	}
	return nil
}

// levels sets a level that exists and another one.
func levels(w *visitor) error {
	if !w.declared("logging") {
		return errNoSubject
	}
	if err := w.refused("logging/setLevel", `{"level":"loud"}`, jsonrpc.CodeInvalidParams); err != nil {
		return err
	}
	_, err := w.served("logging/setLevel", `{"level":"warning"}`)
	return err
}

func acknowledged(w *visitor) error {
	changes := false
	for _, list := range []string{"tools", "resources", "prompts"} {
		raw, _ := jsontext.Member(w.has[list], "listChanged")
		changes = changes || string(raw) == "true"
	}
	if !changes {
		return errNoSubject
	}
	err := w.send(`{"jsonrpc":"2.0","id":"seven","method":"subscriptions/listen","params":` +
		w.withMeta(`{"notifications":{"toolsListChanged":true,"resourcesListChanged":true,"promptsListChanged":true}}`) + `}`)
	if err != nil {
		return err
	}
	r, err := w.read()
	if err != nil {
		return err
	}
	if id, _ := subscriptionOf(r); r.Method != protocol.NotificationAcknowledged || id != `"seven"` {
		return errors.New(`want the acknowledgement, with subscriptionId "seven"`)
	}
	return nil
}
