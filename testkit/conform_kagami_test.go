package testkit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/transport"
)

// kagamiRule is a rule that Conformance leaves out, because Kagami decides whether it holds.
type kagamiRule struct {
	number, source, text string
	at                   func(*dialect.Dialect) bool // nil: at every revision
	check                func(*visitor) error
	fresh                bool   // the check calls initialize itself
	guests               bool   // the rule needs guests
	http                 bool   // the rule is about requests over HTTP
	caps                 string // capabilities of the client, as JSON; "": none
}

// visitor is a probe of a kagamiRule. It may have guests in the server, or a connection over HTTP.
type visitor struct {
	*probe
	guest *guest
	web   *webConn // nil: in memory
}

// Way is what is between the rules and a server. A nil function changes nothing.
type Way struct {
	Bend  func(transport.Conn) transport.Conn
	Spoil func(http.RoundTripper) http.RoundTripper
}

// allRules returns all rules, by subject. Those with guests come last, because the guests stay.
func allRules(way Way) []rule {
	g := &guest{}
	all := rules()
	for i, r := range all {
		if way.Bend != nil {
			all[i] = r.bent(way.Bend)
		}
	}
	for _, r := range kagamiRules() {
		all = append(all, r.with(g, way))
	}
	return all
}

// kagamiRules returns the rules that Conformance leaves out.
func kagamiRules() []kagamiRule {
	own := slices.Concat(frameRules(), protocolRules(), webRules())
	guests := slices.Concat(flightRules(), progressRules(), logRules(), inputRules(), roundRules(), notificationRules(),
		subscriptionRules(), coreTaskRules(), taskRules(), webCallRules())
	for i := range guests {
		guests[i].guests = true
	}
	return append(own, guests...)
}

// bent returns the rule with a changed connection.
func (r rule) bent(bend func(transport.Conn) transport.Conn) rule {
	check, fresh := r.check, r.fresh
	r.fresh, r.check = true, func(w *probe) error {
		w.conn = bend(w.conn)
		if !fresh {
			if err := w.open(); err != nil {
				return err
			}
		}
		return check(w)
	}
	return r
}

func (r kagamiRule) holds(d *dialect.Dialect) bool { return r.at == nil || r.at(d) }

// with returns the rule as one of Conformance.
func (r kagamiRule) with(g *guest, way Way) rule {
	return rule{number: r.number, source: r.source, text: r.text, at: r.at, fresh: true, check: func(p *probe) error {
		w := &visitor{probe: p, guest: g}
		w.caps = cmp.Or(r.caps, "{}")
		if r.guests {
			if err := g.enter(w.server); err != nil {
				return err
			}
			defer g.goHome()
		}
		switch {
		case r.http:
			if err := w.dialWeb(way.Spoil); err != nil {
				return err
			}
		case way.Bend != nil:
			w.conn = way.Bend(w.conn)
		}
		if !r.fresh {
			if err := w.open(); err != nil {
				return err
			}
		}
		return r.check(w)
	}}
}

func (w *visitor) parse(got []byte) (*response, error) {
	w.got = got
	r := &response{}
	if err := json.Unmarshal(got, r); err != nil {
		return nil, fmt.Errorf("the answer is not JSON-RPC: %w", err)
	}
	return r, nil
}
