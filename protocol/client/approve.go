package client

import (
	"context"
	"fmt"
	"net/url"

	"github.com/kagami-mcp/kagami/protocol"
)

// ApprovalKind says what a server asks for.
type ApprovalKind string

// What a server may ask for.
const (
	ApproveForm   ApprovalKind = "form"   // that the user fills in a form
	ApproveURL    ApprovalKind = "url"    // that the user visits a page
	ApproveSample ApprovalKind = "sample" // that the client's model answers
	ApproveRoots  ApprovalKind = "roots"  // which directories it may work in
)

// Approval is a question of the server before its handler sees it. What it points to is
// shared with the handler and must not be changed.
type Approval struct {
	Kind    ApprovalKind
	Message string         // of a form or a page; of sampling, the text of the last message
	URL     string         // of a page, in full
	Host    string         // of URL, with its port: what a user should look at
	Elicit  *ElicitRequest // of a form or a page
	Sample  *SampleRequest // what the model would be sent
}

// Approve has fn look at every question before the handler of [OnElicit], [OnSample] or
// [OnRoots] does; without it the handlers decide themselves. An error refuses: a form or
// page is declined; sampling and roots are refused with error -1 on handshake revisions,
// and on 2026-07-28 the call ends with [ErrRejected] and that error. fn is called
// concurrently, with the handler's context.
func Approve(fn func(context.Context, *Approval) error) Option {
	return optionFunc(func(c *config) { c.approve = fn })
}

// approved calls the hook of Approve, if there is one. The error of a refusal wraps
// ErrRejected.
func (c *Client) approved(ctx context.Context, a *Approval) error {
	if c.config.approve == nil {
		return nil
	}
	if err := c.config.approve(ctx, a); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%w: %w", ErrRejected, err)
	}
	return nil
}

// elicitApproval describes a form or a page to the hook. The URL of a page must be absolute:
// nobody could judge or visit any other (2025-11-25 client/elicitation).
func elicitApproval(q *ElicitRequest) (*Approval, error) {
	a := &Approval{Kind: ApproveForm, Message: q.Message, Elicit: q}
	if q.URL == "" {
		return a, nil
	}
	u, err := url.Parse(q.URL)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return nil, protocol.Faultf(protocol.FaultInvalidParams, "the URL of the question is not an absolute one")
	}
	a.Kind, a.URL, a.Host = ApproveURL, q.URL, u.Host
	return a, nil
}

func sampleApproval(q *SampleRequest) *Approval {
	a := &Approval{Kind: ApproveSample, Sample: q}
	if n := len(q.Messages); n > 0 {
		a.Message = textOf(q.Messages[n-1].Blocks())
	}
	return a
}
