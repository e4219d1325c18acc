package framework

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/kagami-mcp/kagami/protocol"
)

// keyNonce is the key of the nonce in the journal of a call. The ids of the elicitations of the
// call are made of it.
const keyNonce = reserved + "visit-nonce"

// placeholder is replaced in a URL by the id of the elicitation.
const placeholder = "{elicitationId}"

// ElicitURL asks the user to open a page. It returns when the user has agreed to open the page, not
// when the page is done. Only the program that serves the page knows the outcome. Of the options,
// only Key has an effect.
//
// ElicitURL returns ErrDeclined or ErrCancelled if the user refuses. It returns ErrUnsupported if
// the client cannot be asked, which is the case for all clients before 2025-11-25. It returns
// ErrPending if the handler will run again. A URL that is not absolute, or neither http nor https,
// is an error. Otherwise ElicitURL returns the error that ended the wait.
//
// "{elicitationId}" in the URL is replaced by the id of the elicitation. The id has 128 bits,
// cannot be guessed, and is the same in every round of the call. The page uses the id to find the
// elicitation, and the program passes it to [Server.ElicitationComplete]. The page must check that
// its visitor is the user who was asked (client/elicitation "Phishing"). Do not put secrets into
// the URL.
func ElicitURL(ctx context.Context, message, url string, opts ...AskOption) error {
	h, err := asking(ctx, askingVisit)
	if err != nil {
		return err
	}
	return h.settle(ctx, &visitInquiry{h: h, name: questionOf(opts).name, message: message, url: url})[0]
}

const askingVisit = "sending the user to a page"

// visitInquiry is a question that asks the user to open a page.
type visitInquiry struct {
	h            *callCtx
	name         string
	page         string // the id is derived from it; if "", from the full key
	message, url string
}

func (q *visitInquiry) key() string { return q.name }

func (*visitInquiry) answerer() Model { return nil }

func (q *visitInquiry) needs() requirement {
	return requirement{askingVisit, &protocol.ClientCapabilities{ElicitURL: true}, q.h.call.Capabilities().ElicitURL}
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

// visit returns the question of this call that asks the user to open a page. Its id reveals
// nothing, cannot be guessed, and is the same in each round.
func (h *callCtx) visit(page, message, address string) (*protocol.ElicitParams, error) {
	// The nonce belongs to the call, because the server's secrets may change between two rounds.
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
		return nil, fmt.Errorf("%s: %q is not an absolute http or https URL", askingVisit, address)
	}
	if h.call.Dialect.ElicitationIDs() {
		h.server.elicitations.add(id, h.call.Notifier())
	}
	return p, nil
}

// visitError is the error of URLRequired.
type visitError struct{ message, url string }

// Error returns the message and the URL.
func (e *visitError) Error() string { return e.message + "\nVisit: " + e.url }

// URLRequired returns an error that demands that the user opens a page before the call can be made
// at all. A tool, a prompt or a resource may return it. "{elicitationId}" in the URL is replaced as
// for ElicitURL. A URL that ElicitURL does not accept is an internal error.
//
// A client of 2025-11-25 gets the specification's error -32042, and calls again when the page is
// done. On 2026-07-28 the user is asked in a round, and the handler runs again at once. If the
// handler demands the page again, the user is asked again, up to three times. After that, the call
// fails with an error whose text contains the message and the URL; the client calls again when the
// page is done. Any other client gets an error with this text at once.
func URLRequired(message, url string) error { return &visitError{message, url} }

// keyVisit is the beginning of the keys of the questions of URLRequired.
const keyVisit = "visit"

// maxDemands is how often a call may demand the same page. If the page is not done by then, the
// client should make a new call later.
const maxDemands = 3

// demand makes the client open the page, with an error of the protocol or with a question. If
// neither is possible, it returns the text for the client.
func (e *visitError) demand(ctx context.Context) (text string, err error) {
	h := callCtxFrom(ctx)
	if h == nil || h.call == nil {
		return e.Error(), nil
	}
	if done := h.visited.Load(); done != nil && done.url == e.url {
		return done.text, done.err
	}
	visit, err := h.visit(h.fullKey(keyVisit), e.message, e.url)
	if err != nil {
		return "", err
	}
	told := (&visitError{e.message, visit.URL}).Error()
	switch {
	case h.visitsInRounds():
		if text, err = e.round(ctx, h, told); !h.call.Pending() {
			h.visited.Store(&settledVisit{e.url, text, err})
		}
		return text, err
	case h.call.Capabilities().ElicitURL && !h.muted() && h.call.Dialect.ElicitationIDs() && h.call.MayAsk():
		return "", &protocol.Fault{
			Kind: protocol.FaultURLRequired, Message: e.message, Elicitations: []protocol.ElicitParams{*visit},
		}
	}
	return told, nil
}

// round asks the user in a round. It asks again each time the handler demands the page again,
// because the handler has run after the last answer. Each page has a key of its own, because a
// handler may demand several pages, one after the other.
func (e *visitError) round(ctx context.Context, h *callCtx, told string) (text string, err error) {
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

// settledVisit is the answer to a demand of URLRequired. A second demand of the page gets the same answer.
type settledVisit struct {
	url, text string
	err       error
}

// visitsInRounds reports whether the user can be asked in a round to open a page.
func (h *callCtx) visitsInRounds() bool {
	return h.call.Replays() && h.call.MayAsk() && !h.muted() && h.call.Capabilities().ElicitURL
}

// demanded asks the user to open a page in a round, if err demands one and the client is asked in rounds. The
// steps further out then see ErrPending, as for every question, or an error with the outcome. In all other
// cases demanded returns err. h may be nil.
func (h *callCtx) demanded(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, ErrPending) || h == nil || !h.chained || h.call.Pending() || !h.visitsInRounds() {
		return err
	}
	mapped := h.server.mapError(ctx, err)
	v := classify(mapped)
	if v.class != classVisit {
		return err
	}
	text, failure := v.visit.demand(ctx)
	if failure != nil && !errors.Is(failure, ErrPending) {
		return err // refuse reports the failure
	}
	if _, because := errors.AsType[*becauseError](mapped); because {
		h.server.logFailure(ctx, h.call, mapped, h.component.noun, h.component.info.Name)
	}
	if failure != nil {
		return ErrPending
	}
	return &userError{error: errors.New(text)}
}
