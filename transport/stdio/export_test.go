package stdio

// Inline makes the reading goroutine serve each exchange itself, however slow the one
// before was.
func Inline() Option { return optionFunc(func(c *config) { c.fewApart = 0 }) }

// TakeOver is how long an exchange keeps the reading goroutine.
const TakeOver = takeOver

// ClosedByPeer are the errors of a stream that the peer has closed.
var ClosedByPeer = closedByPeer
