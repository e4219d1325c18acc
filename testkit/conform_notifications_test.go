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

// notificationRules are about notifications of changes.
func notificationRules() []kagamiRule {
	handshake := (*dialect.Dialect).Handshake
	return []kagamiRule{
		{
			number: "notifications-1", source: "server/tools, \"List Changed Notification\"", text: "A server that declares listChanged notifies its sessions if the list of tools changes.",
			at: handshake, check: func(w *visitor) error {
				if err := w.declares("tools", "listChanged"); err != nil {
					return err
				}
				return w.notifies(w.changeTools, protocol.NotificationToolsChanged)
			},
		},
		{
			number: "notifications-2", source: "server/resources, \"Subscriptions\"", text: "A client that has subscribed to a resource is notified of its updates until it unsubscribes.",
			at: handshake, check: updates,
		},
		{
			number: "notifications-3", source: "server/resources, \"Subscriptions\"", text: "A client that has not subscribed to a resource is not notified of its updates.",
			check: func(w *visitor) error {
				return errors.Join(w.updateResource(), w.fence(), w.unheard(protocol.NotificationResourceUpdated))
			},
		},
	}
}

// subscriptionRules are about notifications of changes in listen streams.
func subscriptionRules() []kagamiRule {
	rules := []kagamiRule{
		{
			number: "subscription-2", text: "A subscription is notified of the changes that it asked for, with its subscriptionId.",
			check: func(w *visitor) error {
				if err := w.listens(`"toolsListChanged":true`, "tools", "listChanged"); err != nil {
					return err
				}
				return w.notifies(w.changeTools, protocol.NotificationToolsChanged)
			},
		},
		{
			number: "subscription-3", text: "A subscription is not notified of changes that it did not ask for.",
			check: func(w *visitor) error {
				if err := w.listens(`"promptsListChanged":true`, "prompts", "listChanged"); err != nil {
					return err
				}
				if strings.Contains(string(w.got), "toolsListChanged") {
					return errors.New("want nothing acknowledged that was not asked for")
				}
				if err := w.fence(); err != nil {
					return err
				}
				return w.unheard(protocol.NotificationToolsChanged)
			},
		},
		{
			number: "subscription-4", text: "A subscription that names a resource is notified of its updates, with its subscriptionId.",
			check: func(w *visitor) error {
				if err := w.listens(`"resourceSubscriptions":["`+guestURI+`"]`, "resources", "subscribe"); err != nil {
					return err
				}
				return w.notifies(w.updateResource, protocol.NotificationResourceUpdated)
			},
		},
		{
			number: "subscription-5", text: "A subscription that was cancelled is over: another one may have its id.",
			check: func(w *visitor) error {
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
func (w *visitor) declares(capability, part string) error {
	if raw, _ := jsontext.Member(w.has[capability], part); string(raw) != "true" {
		return errNoSubject
	}
	return nil
}

// changeTools adds a tool and takes it away.
func (w *visitor) changeTools() error {
	late := framework.Tool(guestLate, func(context.Context, struct{}) (string, error) { return "", nil })
	if err := w.server.Add(late); err != nil {
		return fmt.Errorf("adding a tool: %w", err)
	}
	w.server.Remove(late)
	return nil
}

func (w *visitor) updateResource() error {
	w.server.ResourceUpdated(w.ctx, guestURI)
	return nil
}

// notifies makes a change, whose notification must come next.
func (w *visitor) notifies(change func() error, method string) error {
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

func updates(w *visitor) error {
	if err := w.declares("resources", "subscribe"); err != nil {
		return err
	}
	if _, err := w.served("resources/subscribe", `{"uri":"`+guestURI+`"}`); err != nil {
		return err
	}
	if err := w.notifies(w.updateResource, protocol.NotificationResourceUpdated); err != nil {
		return err
	}
	if _, err := w.served("resources/unsubscribe", `{"uri":"`+guestURI+`"}`); err != nil {
		return err
	}
	w.heard = nil // what was on its way
	return errors.Join(w.updateResource(), w.fence(), w.unheard(protocol.NotificationResourceUpdated))
}

// listens opens the subscription "seven", which must be acknowledged with what it asks.
func (w *visitor) listens(filter, capability, part string) error {
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
	honored, _ := jsontext.Member(r.Params, "notifications")
	id, _ := subscriptionOf(r)
	if r.Method != protocol.NotificationAcknowledged || id != `"seven"` || !strings.Contains(string(honored), strings.Split(filter, ":")[0]) {
		return fmt.Errorf(`want the acknowledgement of %s, with subscriptionId "seven"`, filter)
	}
	return nil
}

// fence makes a change and reads until its notification has come: by then, all notifications of
// earlier changes have come, too.
func (w *visitor) fence() error {
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
func (w *visitor) passes() error {
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
func (w *visitor) freed() error {
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

func (w *visitor) listensAgain() (acknowledged bool, err error) {
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
