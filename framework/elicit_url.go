package framework

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/kagami-mcp/kagami/protocol"
)

// keyNonce is the journal's key for what the ids of a call's elicitations are made of.
const keyNonce = reserved + "visit-nonce"

// placeholder in a URL is replaced by the id of the elicitation.
const placeholder = "{elicitationId}"

// ElicitURL sends the user to a page. It returns when the user has agreed to open it, not
// when the page is done; only the program that serves the page knows how that went. The
// error is ErrDeclined or ErrCancelled as the user decided, ErrUnsupported if the client
// cannot be asked (before 2025-11-25 none can), ErrPending if the handler will run again,
// or whatever ended the wait.
//
// "{elicitationId}" in the URL is replaced by the id of the question: 128 bits that nobody
// can guess, the same in every round of the call. The page uses it to find out what it is
// for, and [Server.ElicitationComplete] takes it. The page must check that whoever opens it
// is the person who was asked (client/elicitation "Phishing"). Do not put secrets into the
// URL. A URL that is not absolute, or neither http nor https, is an error. Of the options,
// only Key has a meaning here.
func ElicitURL(ctx context.Context, message, url string, opts ...AskOption) error {
	h, err := asking(ctx, askingVisit)
	if err != nil {
		return err
	}
	return h.settle(ctx, &visitInquiry{h: h, name: questionOf(opts).name, message: message, url: url})[0]
}

const askingVisit = "sending the user to a page"

// visitInquiry asks the user to open a page.
type visitInquiry struct {
	h            *handling
	name         string
	page         string // the id is made of it; "": of the full key
	message, url string
}

func (q *visitInquiry) key() string { return q.name }

func (*visitInquiry) answerer() Model { return nil }

func (q *visitInquiry) needs() need {
	return need{askingVisit, &protocol.ClientCapabilities{ElicitURL: true}, q.h.call.Capabilities().ElicitURL}
}

func (q *visitInquiry) params(base string) (protocol.Params, error) {
	if !q.h.call.Dialect.ElicitsURL() {
		return nil, &unsupportedError{what: askingVisit + " is not possible with this client"}
	}
	if q.page != "" {
		base = q.page
	}
	return q.h.visit(base, q.message, q.url)
}

func (*visitInquiry) take(_ context.Context, _ string, r protocol.Result) (bool, error) {
	answer, err := elicited(r)
	if err == nil {
		err = refusal(answer.Action)
	}
	return true, err
}

// visit is the question for a page of this call. Its id reveals nothing, cannot be guessed, and
// is the same in each round.
func (h *handling) visit(page, message, address string) (*protocol.ElicitParams, error) {
	// A nonce of the call, since the server's secrets may change between two rounds.
	nonce, err := h.call.Once(h, keyNonce, func(context.Context) ([]byte, error) { return []byte(rand.Text()), nil })
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, nonce)
	for _, part := range []string{page, address} {
		_, _ = fmt.Fprintf(mac, "%d:%s", len(part), part)
	}
	id := base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
	p := &protocol.ElicitParams{Message: message, URL: strings.ReplaceAll(address, placeholder, id), ID: id}
	if u, err := url.Parse(p.URL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("%s: %q is no absolute http or https URL", askingVisit, address)
	}
	if h.call.Dialect.ElicitationIDs() {
		h.server.visits.add(id, h.call.Notifier())
	}
	return p, nil
}

// visitError is the error of URLRequired.
type visitError struct{ message, url string }

// Error says what to visit.
func (e *visitError) Error() string { return e.message + "\nVisit: " + e.url }

// URLRequired is an error that demands a visit before the call can be made at all,
// from a tool, a prompt or a resource; "{elicitationId}" in the URL as for
// ElicitURL. A client of 2025-11-25 gets the specification's error -32042 and calls
// again when the page is done. On 2026-07-28 the user is asked in a round and the
// handler runs again, at once: if it demands the visit again, the user is asked
// again, three times; then the client is told what to visit in the text of an error,
// and calls again when the page is done. Any other client is told what to visit in the
// text of an error. A URL that ElicitURL would not take is an internal error.
func URLRequired(message, url string) error { return &visitError{message, url} }

// keyVisit begins the keys of the questions of URLRequired.
const keyVisit = "visit"

// maxDemands bounds how often a call demands the same visit. A page that is not done by then
// takes too long for a client that must call again each time.
const maxDemands = 3

// demand makes the client open the page, by an error of the protocol or a question; if that is
// not possible, it returns a text.
func (e *visitError) demand(ctx context.Context) (text string, err error) {
	h := handlingFrom(ctx)
	if h == nil || h.call == nil {
		return e.Error(), nil
	}
	visit, err := h.visit(h.fullKey(keyVisit), e.message, e.url)
	if err != nil {
		return "", err
	}
	can := h.call.Capabilities().ElicitURL && !h.muted()
	told := (&visitError{e.message, visit.URL}).Error()
	switch {
	case can && h.call.Replays() && h.call.MayAsk():
		return e.round(ctx, h, told)
	case can && h.call.Dialect.ElicitationIDs() && h.call.MayAsk():
		return "", &protocol.Fault{
			Kind: protocol.FaultURLRequired, Message: e.message, Elicitations: []protocol.ElicitParams{*visit},
		}
	}
	return told, nil
}

// round asks in a round. It asks again each time the handler demands the visit again, since it
// has run after the last answer. Each page has a key of its own, because a handler may demand
// one after the other.
func (e *visitError) round(ctx context.Context, h *handling, told string) (text string, err error) {
	sum := sha256.Sum256([]byte(e.url))
	page := keyVisit + "/" + hex.EncodeToString(sum[:8])
	for n := 1; err == nil; n++ {
		if n > maxDemands { // the user has agreed each time
			return told, nil
		}
		name := page
		if n > 1 {
			name += "#" + strconv.Itoa(n)
		}
		err = h.settle(ctx, &visitInquiry{h: h, name: name, page: h.fullKey(keyVisit), message: e.message, url: e.url})[0]
	}
	switch v := classify(err); v.class {
	case classUser: // the user has refused
		return v.text, nil
	default:
		return "", err
	}
}
