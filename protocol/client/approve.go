package client

import (
	"context"
	"fmt"
	"net/url"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
)

// Approval describes a question of the server before its handler runs. The values that it points to
// are shared with the handler and must not be changed.
type Approval struct {
	// Kind is "form" if the user is to fill in a form, "url" if the user is to visit a page, "sample"
	// if the client's model is to answer, and "roots" if the server wants the directories that it
	// may work in.
	Kind    string
	Message string         // message of a form or page; for sampling, the text of the last message
	URL     string         // full URL of a page
	Host    string         // host of URL, with its port: what a user should check
	Elicit  *ElicitRequest // set for a form or page
	Sample  *SampleRequest // set for sampling
}

// Approve calls fn for every question before the handler of [OnElicit], [OnSample] or [OnRoots]. An
// error of fn refuses the question. A form or page is then declined. For sampling and roots,
// handshake revisions send error -1; on 2026-07-28 the call ends with an error that wraps
// [ErrRejected] and the error of fn. fn is called concurrently, with the handler's context.
func Approve(fn func(context.Context, *Approval) error) Option {
	return optionFunc(func(c *config) { c.approve = fn })
}

// approved calls the function of Approve, if there is one. If the function refuses, the error wraps
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

// elicitApproval describes a form or a page for the function of Approve. It returns an error if the
// URL of a page is not absolute, because a user could not judge or visit it (2025-11-25
// client/elicitation).
func elicitApproval(q *ElicitRequest) (*Approval, error) {
	a := &Approval{Kind: "form", Message: q.Message, Elicit: q}
	if q.URL == "" {
		return a, nil
	}
	u, err := url.Parse(q.URL)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return nil, protocol.Faultf(protocol.FaultInvalidParams, "the URL of the question is not an absolute one")
	}
	a.Kind, a.URL, a.Host = "url", q.URL, u.Host
	return a, nil
}

func sampleApproval(q *SampleRequest) *Approval {
	a := &Approval{Kind: "sample", Sample: q}
	if n := len(q.Messages); n > 0 {
		a.Message = dialect.TextOf(q.Messages[n-1].Blocks())
	}
	return a
}
