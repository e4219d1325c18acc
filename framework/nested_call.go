package framework

import (
	"context"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// inner makes a handling a part of another one: an effect, or a tool that a model calls. Its
// questions and effects have keys of their own, so that the keys of the outer part are the same
// whether the inner one runs or its result is known already.
type inner struct {
	top    *handling // the call itself
	outer  *handling // the handling that it is a part of
	prefix string    // the beginning of its keys
	id     string    // of the nested call; "" in an effect
	round  int       // of the nested call
	effect string    // the idempotency key; "" outside of effects
	muted  bool      // it must not ask questions
}

// within makes the handling of a part with this full key; ctx is the context it runs in.
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

// outer is the handling that h is a part of; nil: h is the call itself.
func (h *handling) outer() *handling {
	if h.inner != nil {
		return h.inner.outer
	}
	return nil
}

// muted says that h must not ask questions.
func (h *handling) muted() bool { return h.inner != nil && h.inner.muted }

// callID is the id of the logical call, or of the nested one.
func (h *handling) callID() string {
	if h.inner != nil && h.inner.id != "" {
		return h.inner.id
	}
	return h.call.ID()
}

// roundOf is the round of the logical call, or of the nested one.
func (h *handling) roundOf() int {
	if h.inner != nil && h.inner.id != "" {
		return h.inner.round
	}
	return h.call.Round
}

// fullKey is the key in the journal of the call.
func (h *handling) fullKey(key string) string {
	if h.inner != nil {
		return h.inner.prefix + key
	}
	return key
}

// questionKey is the full key of a question. A question without a key is known by its place in
// the order. Two questions with the same key are an error at once, also if the client is asked
// live: in rounds one would get the answer of the other.
func (h *handling) questionKey(q inquiry) (string, error) {
	key := q.key()
	_, roots := q.(*rootsInquiry)
	switch {
	case key == keyRoots && !roots:
		return "", fmt.Errorf("the key %q is that of Roots: give the question another", key)
	case !utf8.ValidString(key): // a client would send back another text
		return "", fmt.Errorf("the key %q is not UTF-8", key)
	case key == "":
		key = "q" + strconv.Itoa(int(h.asked.Add(1)))
	}
	full := h.fullKey(key)
	h.top().asks.Store(true)
	if roots { // if clients are asked live, roots may change during the call
		return full, nil
	}
	if !h.top().fresh(full) {
		return "", fmt.Errorf("two questions of one call have the key %q: give each a Key of its own", full)
	}
	return full, nil
}

// fresh reports whether no question of the call had the key yet.
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
