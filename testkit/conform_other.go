package testkit

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// codeNotFound of resources, of revisions with a handshake.
const codeNotFound = -32002

const nowhere = `{"uri":"testkit-none://nowhere"}`

func otherRules() []rule {
	return []rule{
		{
			number: "resource-3", source: "server/resources, \"Error Handling\"", text: "A resource that is not there is refused with -32002.",
			at: (*dialect.Dialect).Handshake, check: func(w *probe) error { return w.lost(codeNotFound) },
		},
		{
			number: "resource-4", source: "server/resources, \"Error Handling\"", text: "A resource that is not there is refused with -32602, and never with empty contents.",
			at: perRequest, check: func(w *probe) error { return w.lost(jsonrpc.CodeInvalidParams) },
		},
		{
			number: "prompt-2", source: "server/prompts, \"Error Handling\"", text: "An unknown prompt is refused with -32602.",
			check: func(w *probe) error {
				if !w.declared("prompts") {
					return errNoSubject
				}
				return w.refused("prompts/get", `{"name":"testkit-none"}`, jsonrpc.CodeInvalidParams)
			},
		},
		{
			number: "prompt-3", source: "server/prompts, \"Error Handling\"", text: "A prompt without its required arguments is refused with -32602.",
			check: withoutArguments,
		},
		{
			number: "completion-1", source: "server/utilities/completion", text: "A reference to what is not there is refused with -32602.",
			check: func(w *probe) error {
				if !w.declared("completions") {
					return errNoSubject
				}
				return w.refused("completion/complete", `{"ref":{"type":"ref/prompt","name":"testkit-none"},"argument":{"name":"a","value":""}}`, jsonrpc.CodeInvalidParams)
			},
		},
		{
			number: "logging-1", source: "server/utilities/logging", text: "An invalid level is refused with -32602, a valid one is acknowledged.",
			at: func(d *dialect.Dialect) bool { return !d.LogLevelPerRequest() },
			check: func(w *probe) error {
				if !w.declared("logging") {
					return errNoSubject
				}
				if err := w.refused("logging/setLevel", `{"level":"loud"}`, jsonrpc.CodeInvalidParams); err != nil {
					return err
				}
				_, err := w.served("logging/setLevel", `{"level":"warning"}`)
				return err
			},
		},
		{
			number: "subscription-1", source: "basic/patterns/subscriptions", text: "The first message of a subscription acknowledges it, with the id of the request in its JSON type.",
			at: (*dialect.Dialect).ListenStream, check: acknowledged,
		},
	}
}

// lost reads what is not there; a server may have a template for everything.
func (w *probe) lost(code int) error {
	if !w.declared("resources") {
		return errNoSubject
	}
	return w.refused("resources/read", nowhere, code)
}

func withoutArguments(w *probe) error {
	items, err := w.items(protocol.ListPrompts)
	if err != nil {
		return err
	}
	subject := false
	for _, item := range items {
		var prompt struct {
			Name      string
			Arguments []struct{ Required bool }
		}
		if err := json.Unmarshal(item, &prompt); err != nil {
			return err
		}
		if len(prompt.Arguments) == 0 || !prompt.Arguments[0].Required {
			continue
		}
		subject = true
		if err := w.refused("prompts/get", `{"name":`+strconv.Quote(prompt.Name)+`}`, jsonrpc.CodeInvalidParams); err != nil {
			return err
		}
	}
	if !subject {
		return errNoSubject
	}
	return nil
}

func acknowledged(w *probe) error {
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
