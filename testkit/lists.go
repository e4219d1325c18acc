package testkit

import (
	"context"
	"iter"
	"strings"

	"github.com/kagami-mcp/kagami/protocol"
)

// Tools returns the tools as listed, all pages.
func (s *Session) Tools() []protocol.Tool {
	s.t.Helper()
	return collect(s, protocol.ListTools, s.client.Tools)
}

// Resources returns the resources as listed, all pages.
func (s *Session) Resources() []protocol.Resource {
	s.t.Helper()
	return collect(s, protocol.ListResources, s.client.Resources)
}

// Templates returns the templates as listed, all pages.
func (s *Session) Templates() []protocol.ResourceTemplate {
	s.t.Helper()
	return collect(s, protocol.ListTemplates, s.client.Templates)
}

// Prompts returns the prompts as listed, all pages.
func (s *Session) Prompts() []protocol.Prompt {
	s.t.Helper()
	return collect(s, protocol.ListPrompts, s.client.Prompts)
}

func collect[T any](s *Session, kind protocol.ListKind, list func(context.Context) iter.Seq2[T, error]) []T {
	s.t.Helper()
	ctx, cancel := s.bounded()
	defer cancel()
	var all []T
	for item, err := range list(ctx) {
		if err != nil {
			s.t.Fatalf("testkit: %s: %v", kind.Method(), err)
			return nil
		}
		all = append(all, item)
	}
	return all
}

// Complete completes an argument of a prompt or of a resource template. ref is the name of the
// prompt or the URI template; a ref with a brace is a template. args are the arguments already
// given.
func (s *Session) Complete(ref, argument, prefix string, args map[string]string) []string {
	s.t.Helper()
	p := &protocol.CompleteParams{Prompt: ref, Argument: argument, Value: prefix, Context: args}
	if strings.Contains(ref, "{") {
		p.Prompt, p.Template = "", ref
	}
	ctx, cancel := s.bounded()
	defer cancel()
	completion, err := s.client.Complete(ctx, p)
	if err != nil {
		s.t.Fatalf("testkit: completing %s of %s from %q: %v", argument, ref, prefix, err)
	}
	return completion.Values
}

// Subscribe subscribes to a resource for the rest of the test; see AwaitNotification.
func (s *Session) Subscribe(uri string) {
	s.t.Helper()
	ctx, cancel := s.bounded()
	defer cancel()
	if err := s.watch(ctx, protocol.SubscriptionFilter{URIs: []string{uri}}); err != nil {
		s.t.Fatalf("testkit: subscribing to %s: %v", uri, err)
	}
}
