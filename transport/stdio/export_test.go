package stdio

// Inline makes the reading goroutine serve each exchange itself, however slow the one
// before was.
func Inline() Option { return optionFunc(func(c *config) { c.fewApart = 0 }) }

// TakeOver is how long an exchange keeps the reading goroutine.
const TakeOver = takeOver
