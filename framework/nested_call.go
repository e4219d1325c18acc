package framework

import (
	"context"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// inner makes a handling a part of another one: an effect, or a tool that a model calls. The part
// has its own keys for questions and effects. The keys of the outer handling are therefore the same
// whether the part runs or its result is already known.
type inner struct {
	top    *handling // handling of the whole call
	outer  *handling // handling that contains this part
	prefix string    // prefix of the part's keys
	id     string    // id of the nested call; "" in an effect of the call itself
	round  int       // round of the nested call
	effect string    // idempotency key; "" outside of effects
	muted  bool      // the part must not ask questions
}

// within returns a handling for a part that has this full key. The part runs in ctx.
func (h *handling) within(ctx context.Context, key string) *handling {
	part := &handling{
		Context: ctx, server: h.server, call: h.call, bound: h.bound, uri: h.uri, vars: h.vars,
		inner: &inner{top: h.top(), outer: h, prefix: key + "/"},
	}
	if h.inner != nil {
		part.inner.id, part.inner.round, part.inner.muted = h.inner.id, h.inner.round, h.inner.muted
	}
	return part
}

func (h *handling) top() *handling {
	if h.inner != nil {
		return h.inner.top
	}
	return h
}

// outer returns the handling that contains h. If h is the call itself, outer returns nil.
func (h *handling) outer() *handling {
	if h.inner != nil {
		return h.inner.outer
	}
	return nil
}

// muted reports whether h must not ask questions.
func (h *handling) muted() bool { return h.inner != nil && h.inner.muted }

// callID returns the id of the nested call, or else of the logical call.
func (h *handling) callID() string {
	if h.inner != nil && h.inner.id != "" {
		return h.inner.id
	}
	return h.call.ID()
}

// roundOf returns the round of the nested call, or else of the logical call.
func (h *handling) roundOf() int {
	if h.inner != nil && h.inner.id != "" {
		return h.inner.round
	}
	return h.call.Round
}

// fullKey returns the key for the journal of the call, with the prefix of the part.
func (h *handling) fullKey(key string) string {
	if h.inner != nil {
		return h.inner.prefix + key
	}
	return key
}

// questionKey returns the full key of a question. A question without a key gets one from its
// position in the order. Two questions with the same key are an error at once, because in rounds
// one would get the answer of the other. That holds even if the client is asked live.
func (h *handling) questionKey(q inquiry) (string, error) {
	key := q.key()
	_, roots := q.(*rootsInquiry)
	switch {
	case key == keyRoots && !roots:
		return "", fmt.Errorf("the key %q is that of Roots: give the question another", key)
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
func (h *handling) fresh(key string) bool {
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
