package engine

import "github.com/kagami-mcp/kagami/protocol/lazyctx"

// callContext is the context of one request. It ends when the client cancels, the carrier ends, or
// the call is over.
type callContext struct {
	lazyctx.Context
	x *exchange
}

// Value returns the exchange or its call, and asks the parent for other keys. Frame middleware must
// not see the call. If there is any, exchange.handle adds the call to the context later.
func (c *callContext) Value(key any) any {
	switch key.(type) {
	case exchangeKey:
		return c.x
	case callKey:
		if len(c.x.conn.e.cfg.Frames) == 0 {
			return c.x.call
		}
	}
	return c.Context.Value(key)
}
