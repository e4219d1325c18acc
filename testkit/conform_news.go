package testkit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// newsRules are about notifications of changes.
func newsRules() []rule {
	handshake := (*dialect.Dialect).Handshake
	return []rule{
		{
			number: "news-1", source: "server/tools, \"List Changed Notification\"", text: "A server that declares listChanged tells its sessions when the list of tools changes.",
			at: handshake, check: func(w *probe) error {
				if err := w.declares("tools", "listChanged"); err != nil {
					return err
				}
				return w.told(w.changeTools, protocol.NotificationToolsChanged)
			},
		},
		{
			number: "news-2", source: "server/resources, \"Subscriptions\"", text: "Who has subscribed to a resource is told of its updates, and after unsubscribing no more.",
			at: handshake, check: updates,
		},
		{
			number: "news-3", source: "server/resources, \"Subscriptions\"", text: "Who has not subscribed to a resource is not told of its updates.",
			check: func(w *probe) error {
				return errors.Join(w.updateNews(), w.fence(), w.untold(protocol.NotificationResourceUpdated))
			},
		},
	}
}

// subscriptionRules are about notifications of changes in listen streams.
func subscriptionRules() []rule {
	rules := []rule{
		{
			number: "subscription-2", text: "A change is told to a subscription that asked for it, with its subscriptionId.",
			check: func(w *probe) error {
				if err := w.listens(`"toolsListChanged":true`, "tools", "listChanged"); err != nil {
					return err
				}
				return w.told(w.changeTools, protocol.NotificationToolsChanged)
			},
		},
		{
			number: "subscription-3", text: "A change is not told to a subscription that did not ask for it.",
			check: func(w *probe) error {
				if err := w.listens(`"promptsListChanged":true`, "prompts", "listChanged"); err != nil {
					return err
				}
				if strings.Contains(string(w.got), "toolsListChanged") {
					return errors.New("want nothing acknowledged that was not asked for")
				}
				if err := w.fence(); err != nil {
					return err
				}
				return w.untold(protocol.NotificationToolsChanged)
			},
		},
		{
			number: "subscription-4", text: "Updates of a resource are told to a subscription that names it, with its subscriptionId.",
			check: func(w *probe) error {
				if err := w.listens(`"resourceSubscriptions":["`+guestURI+`"]`, "resources", "subscribe"); err != nil {
					return err
				}
				return w.told(w.updateNews, protocol.NotificationResourceUpdated)
			},
		},
		{
			number: "subscription-5", text: "A subscription that was cancelled is over: another one may have its id.",
			check: func(w *probe) error {
				if err := w.listens(`"toolsListChanged":true`, "tools", "listChanged"); err != nil {
					return err
				}
				if err := w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"seven"}}`); err != nil {
					return err
				}
				return w.freed()
			},
		},
	}
	for i := range rules {
		rules[i].source, rules[i].at = "basic/patterns/subscriptions", (*dialect.Dialect).ListenStream
	}
	return rules
}

// declares returns errNoSubject if the server does not declare this part of a capability.
func (w *probe) declares(capability, part string) error {
	if raw, _ := jsontext.Member(w.has[capability], part); string(raw) != "true" {
		return errNoSubject
	}
	return nil
}

// changeTools adds a tool and takes it away.
func (w *probe) changeTools() error {
	late := framework.Tool(guestLate, func(context.Context, struct{}) (string, error) { return "", nil })
	if err := w.server.Add(late); err != nil {
		return fmt.Errorf("adding a tool: %w", err)
	}
	w.server.Remove(late)
	return nil
}

func (w *probe) updateNews() error {
	w.server.ResourceUpdated(w.ctx, guestURI)
	return nil
}

// told makes a change, whose notification must come next.
func (w *probe) told(change func() error, method string) error {
	if err := change(); err != nil {
		return err
	}
	r, err := w.read()
	if err != nil {
		return err
	}
	if r.Method != method {
		return fmt.Errorf("want %s", method)
	}
	if id, ok := subscriptionOf(r); w.dialect.ListenStream() && (!ok || id != `"seven"`) {
		return errors.New(`want the subscriptionId "seven"`)
	}
	return nil
}

func subscriptionOf(r *response) (string, bool) {
	meta, _ := jsontext.Member(r.Params, "_meta")
	id, ok := jsontext.Member(meta, "io.modelcontextprotocol/subscriptionId")
	return string(id), ok
}

func updates(w *probe) error {
	if err := w.declares("resources", "subscribe"); err != nil {
		return err
	}
	if _, err := w.served("resources/subscribe", `{"uri":"`+guestURI+`"}`); err != nil {
		return err
	}
	if err := w.told(w.updateNews, protocol.NotificationResourceUpdated); err != nil {
		return err
	}
	if _, err := w.served("resources/unsubscribe", `{"uri":"`+guestURI+`"}`); err != nil {
		return err
	}
	w.heard = nil // what was on its way
	return errors.Join(w.updateNews(), w.fence(), w.untold(protocol.NotificationResourceUpdated))
}

// listens opens the subscription "seven", which must be acknowledged with what it asks.
func (w *probe) listens(filter, capability, part string) error {
	if err := w.declares(capability, part); err != nil {
		return err
	}
	err := w.send(`{"jsonrpc":"2.0","id":"seven","method":"subscriptions/listen","params":` + w.withMeta(`{"notifications":{`+filter+`}}`) + `}`)
	if err != nil {
		return err
	}
	r, err := w.read()
	if err != nil {
		return err
	}
	honoured, _ := jsontext.Member(r.Params, "notifications")
	id, _ := subscriptionOf(r)
	if r.Method != protocol.NotificationAcknowledged || id != `"seven"` || !strings.Contains(string(honoured), strings.Split(filter, ":")[0]) {
		return fmt.Errorf(`want the acknowledgement of %s, with subscriptionId "seven"`, filter)
	}
	return nil
}

// fence makes a change and reads until its notification has come: by then, all notifications of
// earlier changes have come, too.
func (w *probe) fence() error {
	if w.dialect.ListenStream() {
		err := w.send(`{"jsonrpc":"2.0","id":"fence","method":"subscriptions/listen","params":` + w.withMeta(`{"notifications":{"toolsListChanged":true}}`) + `}`)
		if err != nil {
			return err
		}
	}
	if err := w.changeTools(); err != nil {
		return err
	}
	return w.passes()
}

// passes reads until the notification of the fence.
func (w *probe) passes() error {
	for {
		r, err := w.read()
		if err != nil {
			return err
		}
		id, _ := subscriptionOf(r)
		if r.Method == protocol.NotificationToolsChanged && (!w.dialect.ListenStream() || id == `"fence"`) {
			return nil
		}
		w.heard = append(w.heard, r)
	}
}

// freed waits until the id of a cancelled subscription can be used again. The server refuses it
// until it has handled the cancellation.
func (w *probe) freed() error {
	for {
		again, err := w.listensAgain()
		switch {
		case w.ctx.Err() != nil:
			return errors.New("want the id of the subscription to be free again")
		case again || err != nil:
			return err
		}
	}
}

func (w *probe) listensAgain() (acknowledged bool, err error) {
	err = w.send(`{"jsonrpc":"2.0","id":"seven","method":"subscriptions/listen","params":` + w.withMeta(`{"notifications":{"toolsListChanged":true}}`) + `}`)
	for err == nil {
		var r *response
		if r, err = w.read(); err != nil || r.Error != nil {
			return false, err
		}
		if r.Method == protocol.NotificationAcknowledged {
			return true, nil
		}
	}
	return false, err
}
