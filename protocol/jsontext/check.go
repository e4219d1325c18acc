package jsontext

// Check reports whether the whole text is one JSON value (RFC 8259) in UTF-8 and within lim. Space
// around the value is allowed.
//
// The error is a *SyntaxError or a *LimitError, whichever the scan finds first. Check takes linear
// time. For a valid text it does not allocate.
func Check(text []byte, lim Limits) error {
	c := checker{text: text, lim: lim.bounded()}
	return c.run()
}

// run checks the whole text.
func (c *checker) run() error {
	c.pos = skipSpace(c.text, 0)
	if err := c.value(); err != nil {
		return err
	}
	if c.pos = skipSpace(c.text, c.pos); c.pos < len(c.text) {
		return c.syntax(c.pos, reasonTrailing)
	}
	return nil
}

// checker is the state of one Check. It recurses into containers, as deep as lim allows.
type checker struct {
	text     []byte
	pos      int
	lim      Limits
	depth    int // number of containers that are open at pos
	elements int

	outline *Outline // records the members that are read; may be nil
}

// value reads the value at pos.
func (c *checker) value() error {
	if c.pos == len(c.text) {
		return c.syntax(c.pos, reasonEnd)
	}
	var end int
	var reason string
	switch b := c.text[c.pos]; {
	case b == '"':
		end, _, reason = scanString(c.text, c.pos+1)
	case b == '{':
		return c.container(true, '}', reasonInObject)
	case b == '[':
		return c.container(false, ']', reasonInArray)
	case b == '-', isDigit(b):
		return c.number()
	case b == 't', b == 'f', b == 'n':
		end, reason = scanLiteral(c.text, c.pos)
	case c.pos == 0 && b == 0xEF && len(c.text) > 2 && c.text[1] == 0xBB && c.text[2] == 0xBF:
		end, reason = 0, reasonBOM
	default:
		end, reason = c.pos, reasonValue
	}
	if reason != "" {
		return c.syntax(end, reason)
	}
	c.pos = end
	return nil
}

func (c *checker) number() error {
	start := c.pos
	end, reason := scanNumber(c.text, start)
	if reason != "" {
		return c.syntax(end, reason)
	}
	if end-start > c.lim.Number {
		return c.limit(start, reasonDigits)
	}
	c.pos = end
	return nil
}

// container reads the object or array that opens at pos. shut is its closing bracket, and reason
// describes what may follow an element.
func (c *checker) container(object bool, shut byte, reason string) error {
	if c.depth == c.lim.Depth {
		return c.limit(c.pos, reasonDepth)
	}
	c.depth++
	c.pos = skipSpace(c.text, c.pos+1)
	last := none
	for more := c.pos == len(c.text) || c.text[c.pos] != shut; more; {
		if c.elements++; c.elements > c.lim.Elements {
			return c.limit(c.pos, reasonElements)
		}
		var err error
		if c.pos = skipSpace(c.text, c.pos); object {
			last, err = c.member(last)
		} else {
			err = c.value()
		}
		if err != nil {
			return err
		}
		c.pos = skipSpace(c.text, c.pos)
		if more = c.pos < len(c.text) && c.text[c.pos] == ','; more {
			c.pos++
		} else if c.pos == len(c.text) || c.text[c.pos] != shut {
			return c.wanted(c.pos, reason)
		}
	}
	c.pos++
	c.depth--
	return nil
}

// member reads the member at pos, and returns the index of its span in the outline, or none. before is
// the index of the previous member of the object, or none.
func (c *checker) member(before int) (span int, err error) {
	name := c.pos
	if name == len(c.text) || c.text[name] != '"' {
		return none, c.wanted(name, reasonName)
	}
	end, escaped, reason := scanString(c.text, name+1)
	if reason != "" {
		return none, c.syntax(end, reason)
	}
	colon := skipSpace(c.text, end)
	if colon == len(c.text) || c.text[colon] != ':' {
		return none, c.wanted(colon, reasonColon)
	}
	c.pos = skipSpace(c.text, colon+1)
	if c.outline == nil || c.depth > outlined {
		return none, c.value()
	}
	span = c.outline.begin(before, c.depth, name, end, c.pos, escaped)
	err = c.value()
	c.outline.end(span, c.pos)
	return span, err
}

// wanted returns the error for a text that lacks the token described by reason at this position. If
// the text ends there, the reason is reasonEnd.
func (c *checker) wanted(at int, reason string) error {
	if at == len(c.text) {
		reason = reasonEnd
	}
	return c.syntax(at, reason)
}

func (c *checker) syntax(at int, reason string) error {
	return &SyntaxError{Offset: at, Reason: reason}
}

func (c *checker) limit(at int, reason string) error {
	return &LimitError{Offset: at, Reason: reason}
}
