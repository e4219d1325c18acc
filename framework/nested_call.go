package framework

import (
	"context"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// nestedCall makes a callCtx a part of another one: an effect, or a tool that a model calls. The part
// has its own keys for questions and effects. The keys of the outer callCtx are therefore the same
// whether the part runs or its result is already known.
type nestedCall struct {
	top    *callCtx // callCtx of the whole call
	outer  *callCtx // callCtx that contains this part
	prefix string   // prefix of the part's keys
	id     string   // id of the nested call; "" in an effect of the call itself
	round  int      // round of the nested call
	effect string   // idempotency key; "" outside of effects
	muted  bool     // the part must not ask questions
}

// within returns a callCtx for a part that has this full key. The part runs in ctx.
func (h *callCtx) within(ctx context.Context, key string) *callCtx {
	part := &callCtx{
		Context: ctx, server: h.server, call: h.call, component: h.component, uri: h.uri, vars: h.vars,
		inner: &nestedCall{top: h.top(), outer: h, prefix: key + "/"},
	}
	if h.inner != nil {
		part.inner.id, part.inner.round, part.inner.muted = h.inner.id, h.inner.round, h.inner.muted
	}
	return part
}

func (h *callCtx) top() *callCtx {
	if h.inner != nil {
		return h.inner.top
	}
	return h
}

// outer returns the callCtx that contains h. If h is the call itself, outer returns nil.
func (h *callCtx) outer() *callCtx {
	if h.inner != nil {
		return h.inner.outer
	}
	return nil
}

// muted reports whether h must not ask questions.
func (h *callCtx) muted() bool { return h.inner != nil && h.inner.muted }

// callID returns the id of the nested call, or else of the logical call.
func (h *callCtx) callID() string {
	if h.inner != nil && h.inner.id != "" {
		return h.inner.id
	}
	return h.call.ID()
}

// roundOf returns the round of the nested call, or else of the logical call.
func (h *callCtx) roundOf() int {
	if h.inner != nil && h.inner.id != "" {
		return h.inner.round
	}
	return h.call.Round
}

// fullKey returns the key for the journal of the call, with the prefix of the part.
func (h *callCtx) fullKey(key string) string {
	if h.inner != nil {
		return h.inner.prefix + key
	}
	return key
}

// questionKey returns the full key of a question. A question without a key gets one from its
// position in the order. Two questions with the same key are an error at once, because in rounds
// one would get the answer of the other. That holds even if the client is asked live.
func (h *callCtx) questionKey(q pendingQuestion) (string, error) {
	key := q.key()
	_, roots := q.(*rootsInquiry)
	switch {
	case key == keyRoots && !roots:
		return "", fmt.Errorf("the key %q is reserved for Roots: give the question another key", key)
	case !utf8.ValidString(key): // a client would send back a different key
		return "", fmt.Errorf("the key %q is not UTF-8", key)
	case key == "":
		key = "q" + strconv.Itoa(int(h.asked.Add(1)))
	}
	full := h.fullKey(key)
	h.top().asks.Store(true)
	if roots { // roots may be asked again: if clients are asked live, they may change during the call
		return full, nil
	}
	if !h.top().fresh(full) {
		return "", fmt.Errorf("two questions of one call have the key %q: give each a Key of its own", full)
	}
	return full, nil
}

// fresh records the key, and reports whether no earlier question of the call had it.
func (h *callCtx) fresh(key string) bool {
	h.keying.Lock()
	defer h.keying.Unlock()
	if h.keys[key] {
		return false
	}
	if h.keys == nil {
		h.keys = make(map[string]bool)
	}
	h.keys[key] = true
	return true
}
