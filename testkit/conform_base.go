package testkit

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// alive returns a method that every server of the revision answers with a result.
func (w *probe) alive() (method string) {
	if w.dialect.Handshake() {
		return "ping"
	}
	return "server/discover"
}

func perRequest(d *dialect.Dialect) bool { return !d.Handshake() }

func baseRules() []rule {
	return []rule{
		{
			number: "base-1", source: "basic", text: "A response carries the id of its request, in its JSON type.",
			check: sameIDs,
		},
		{
			number: "base-2", source: "basic", text: "A response is JSON-RPC 2.0, with a result or an error of code and message, never both.",
			check: wellFormed,
		},
		{
			number: "base-3", source: "basic", text: "A request id is never null.",
			check: nullID,
		},
		{
			number: "base-4", source: "basic", text: "Notifications are never answered, malformed ones included.",
			check: unanswered,
		},
		{
			number: "base-5", source: "basic", text: "An unknown method is refused with -32601.",
			check: func(w *probe) error { return w.refused("testkit/none", "{}", jsonrpc.CodeMethodNotFound) },
		},
		{
			number: "base-6", source: "JSON-RPC 2.0, 5.1", text: "What is no JSON is refused with -32700, what is no message with -32600.",
			check: malformed,
		},
		{
			number: "base-7", source: "basic", text: "A batch is answered with the responses to its requests.",
			at: (*dialect.Dialect).Batches, check: batch,
		},
		{
			number: "base-8", source: "basic/transports", text: "A frame is one message; arrays are refused.",
			at:    func(d *dialect.Dialect) bool { return !d.Batches() && (perRequest(d) || d.StructuredContent()) },
			check: noBatch,
		},
		{
			number: "base-9", source: "basic, \"Result\"", text: `Every result has a resultType, "complete" where nothing is to follow.`,
			at:    (*dialect.Dialect).ResultType,
			check: typed,
		},
		{
			number: "base-10", source: "basic, \"_meta\"", text: "Results say in _meta who the server is: name and version.",
			at:    perRequest,
			check: introduced,
		},
	}
}

// identified checks that an implementation has a name and a version.
func identified(who []byte) error {
	var info struct{ Name, Version *string }
	if json.Unmarshal(who, &info) != nil || info.Name == nil || info.Version == nil {
		return errors.New("want serverInfo with name and version")
	}
	return nil
}

func malformed(w *probe) error {
	for frame, code := range map[string]int{
		`{"jsonrpc":`:                              jsonrpc.CodeParse,
		`{"jsonrpc":"2.0","id":1}`:                 jsonrpc.CodeInvalidRequest,
		`{"jsonrpc":"1.0","id":1,"method":"ping"}`: jsonrpc.CodeInvalidRequest,
		`{"jsonrpc":"2.0","id":1,"method":7}`:      jsonrpc.CodeInvalidRequest,
		`7`:                                        jsonrpc.CodeInvalidRequest,
	} {
		r, err := w.exchange(frame)
		if err == nil {
			err = oneOf(r, code)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func batch(w *probe) error {
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

func versionRules() []rule {
	return []rule{
		{
			number: "version-1", source: "basic/lifecycle", text: "A supported version that initialize asks for is agreed to.",
			at: (*dialect.Dialect).Handshake, fresh: true,
			check: func(w *probe) error { return w.negotiates(w.dialect.String(), w.dialect.String()) },
		},
		{
			number: "version-2", source: "basic/lifecycle", text: "An unknown version is answered with a supported one, not with an error.",
			at: (*dialect.Dialect).Handshake, fresh: true,
			check: func(w *probe) error { return w.negotiates("1999-01-01", "") },
		},
		{
			number: "version-3", source: "basic/utilities/ping", text: "A ping is answered with an empty result.",
			at:    (*dialect.Dialect).Handshake,
			check: pong,
		},
		{
			number: "version-4", source: "basic, \"_meta\"", text: "A request without protocolVersion or clientCapabilities in _meta is refused with -32602.",
			at:    perRequest,
			check: incomplete,
		},
		{
			number: "version-5", source: "basic/versioning", text: "An unsupported version is refused with -32022, which lists what is supported and repeats what was requested.",
			at: perRequest, check: unsupported,
		},
		{
			number: "version-6", source: "server/discover", text: "server/discover lists the revision among its versions, and the capabilities.",
			at:    perRequest,
			check: discovered,
		},
		{
			number: "version-7", source: "changelog", text: "Methods that the revision has given up are unknown: -32601.",
			at:    perRequest,
			check: abandoned,
		},
	}
}

func (w *probe) negotiates(ask, want string) error {
	r, err := w.initialize(ask)
	if err != nil {
		return err
	}
	version, _ := jsontext.Member(r.Result, "protocolVersion")
	got, _ := jsontext.String(version)
	if want != "" && got != want || !dialect.KnownHandshake(got) {
		return errors.New("want another protocolVersion")
	}
	if caps, _ := jsontext.Member(r.Result, "capabilities"); !isObject(caps) {
		return errors.New("want capabilities")
	}
	who, _ := jsontext.Member(r.Result, "serverInfo")
	return identified(who)
}

func unsupported(w *probe) error {
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

// sameIDs sends ids of all kinds.
func sameIDs(w *probe) error {
	for _, id := range []string{`"a"`, `7`, `"7"`, `""`} {
		r, err := w.exchange(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, w.alive(), w.withMeta("{}")))
		if err != nil || string(r.ID) != id {
			return errors.Join(err, fmt.Errorf("want id %s", id))
		}
	}
	return nil
}

// wellFormed looks at a result and at an error.
func wellFormed(w *probe) error {
	for _, method := range []string{w.alive(), "testkit/none"} {
		r, err := w.ask(method, "{}")
		if err != nil {
			return err
		}
		whole := r.Error == nil || r.Error.Message != nil
		if r.JSONRPC != "2.0" || (r.Result == nil) == (r.Error == nil) || !whole {
			return errors.New("want one of result and error")
		}
	}
	return nil
}

// nullID sends a request that has one.
func nullID(w *probe) error {
	r, err := w.exchange(fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"method":%q,"params":%s}`, w.alive(), w.withMeta("{}")))
	if err != nil {
		return err
	}
	return oneOf(r, jsonrpc.CodeInvalidRequest)
}

// unanswered sends notifications, and sees that the next frame answers something else.
func unanswered(w *probe) error {
	for _, n := range []string{`"notifications/testkit"`, `"notifications/cancelled","params":{"requestId":{}}`, `"notifications/cancelled","params":{"requestId":99}`} {
		if err := w.send(`{"jsonrpc":"2.0","method":` + n + `}`); err != nil {
			return err
		}
	}
	r, err := w.served(w.alive(), "{}")
	if err == nil && string(r.ID) != fmt.Sprint(w.id) {
		err = errors.New("a notification was answered")
	}
	return err
}

// noBatch sends an array.
func noBatch(w *probe) error {
	r, err := w.exchange(fmt.Sprintf(`[{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}]`, w.alive(), w.withMeta("{}")))
	if err != nil {
		return err
	}
	return oneOf(r, jsonrpc.CodeInvalidRequest)
}

// typed looks at the resultType.
func typed(w *probe) error {
	r, err := w.served(w.alive(), "{}")
	if kind, _ := jsontext.Member(r.Result, "resultType"); err == nil && string(kind) != `"complete"` {
		err = errors.New(`want resultType "complete"`)
	}
	return err
}

// introduced looks at the _meta of a result.
func introduced(w *probe) error {
	r, err := w.served(w.alive(), "{}")
	if err != nil {
		return err
	}
	meta, _ := jsontext.Member(r.Result, "_meta")
	who, _ := jsontext.Member(meta, "io.modelcontextprotocol/serverInfo")
	return identified(who)
}

// pong sends a ping.
func pong(w *probe) error {
	r, err := w.served("ping", "{}")
	if err == nil && jsontext.Len(r.Result) != 0 {
		err = errors.New("want {}")
	}
	return err
}

// incomplete leaves out what every request must carry.
func incomplete(w *probe) error {
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

// discovered looks at what server/discover says.
func discovered(w *probe) error {
	r, err := w.served("server/discover", "{}")
	if err != nil {
		return err
	}
	var found struct {
		SupportedVersions []string        `json:"supportedVersions"`
		Capabilities      json.RawMessage `json:"capabilities"`
	}
	err = json.Unmarshal(r.Result, &found)
	if err == nil && (!slices.Contains(found.SupportedVersions, w.dialect.String()) || !isObject(found.Capabilities)) {
		err = errors.New("want supportedVersions with this revision, and capabilities")
	}
	return err
}

// abandoned calls methods of older revisions.
func abandoned(w *probe) error {
	for _, method := range []string{"ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "tasks/list", "tasks/result"} {
		if err := w.refused(method, "{}", jsonrpc.CodeMethodNotFound); err != nil {
			return err
		}
	}
	return nil
}
