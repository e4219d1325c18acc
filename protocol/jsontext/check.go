package jsontext

// Check reports whether the whole text is one JSON value (RFC 8259) in UTF-8 and within lim. Space
// around the value is allowed.
//
// The error is a *SyntaxError or a *LimitError, whichever the scan finds first. Check takes linear
// time and constant stack. For a valid text of depth 64 or less it does not allocate.
func Check(text []byte, lim Limits) error {
	c := checker{text: text, lim: lim.bounded()}
	return c.run()
}

func (c *checker) run() error {
	for {
		done, err := c.value()
		for done && err == nil {
			if c.depth == 0 {
				return c.end()
			}
			done, err = c.after()
		}
		if err != nil {
			return err
		}
	}
}

// checker is the state of one Check: its position, and the containers that are open there.
type checker struct {
	text     []byte
	pos      int
	lim      Limits
	depth    int
	elements int
	// One bit for each open container, the innermost lowest: 1 for an object, 0 for an array.
	// Every 64 levels the full word is moved to spill. A text within the default
	// limits never needs spill.
	open  uint64
	spill []uint64

	outline *Outline // records the members that are read; may be nil
}

// value reads one scalar, or the opening of a container up to its first element. done reports
// whether the value is complete: it is a scalar or an empty container.
func (c *checker) value() (done bool, err error) {
	c.pos = skipSpace(c.text, c.pos)
	if c.pos == len(c.text) {
		return false, c.syntax(c.pos, reasonEnd)
	}
	var end int
	var reason string
	switch b := c.text[c.pos]; {
	case b == '"':
		end, _, reason = scanString(c.text, c.pos+1)
	case b == '{', b == '[':
		return c.begin(b == '{')
	case b == '-', isDigit(b):
		return true, c.number()
	case b == 't', b == 'f', b == 'n':
		end, reason = scanLiteral(c.text, c.pos)
	case c.pos == 0 && b == 0xEF && len(c.text) > 2 && c.text[1] == 0xBB && c.text[2] == 0xBF:
		end, reason = 0, reasonBOM
	default:
		end, reason = c.pos, reasonValue
	}
	if reason != "" {
		return false, c.syntax(end, reason)
	}
	c.pos = end
	return true, nil
}

func (c *checker) number() error {
	start := c.pos
	end, reason := scanNumber(c.text, start)
	if reason != "" {
		return c.syntax(end, reason)
	}
	if c.lim.Number > 0 && end-start > c.lim.Number {
		return c.limit(start, reasonDigits)
	}
	c.pos = end
	return nil
}

// begin reads the opening bracket or brace at pos and everything before the first value inside.
// done reports whether the container is empty.
func (c *checker) begin(object bool) (done bool, err error) {
	if c.depth == c.lim.Depth {
		return false, c.limit(c.pos, reasonDepth)
	}
	c.push(object)
	if c.depth <= outlined && c.outline != nil {
		c.outline.open(c.depth)
	}
	c.pos = skipSpace(c.text, c.pos+1)
	if c.pos < len(c.text) && c.text[c.pos] == closer(object) {
		c.pos++
		c.pop()
		return true, nil
	}
	return false, c.element()
}

// after reads what follows a value inside a container. After a comma, it reads everything before
// the next value. At the end of the container, it returns done, because the container is then a
// complete value.
func (c *checker) after() (done bool, err error) {
	if c.depth <= outlined && c.outline != nil {
		c.outline.end(c.depth, c.pos)
	}
	c.pos = skipSpace(c.text, c.pos)
	if c.pos < len(c.text) {
		switch c.text[c.pos] {
		case ',':
			c.pos++
			return false, c.element()
		case closer(c.inObject()):
			c.pos++
			c.pop()
			return true, nil
		}
	}
	if c.inObject() {
		return false, c.wanted(c.pos, reasonInObject)
	}
	return false, c.wanted(c.pos, reasonInArray)
}

// element counts an element. In an object it also reads the name and the colon.
func (c *checker) element() error {
	c.elements++
	if c.lim.Elements > 0 && c.elements > c.lim.Elements {
		return c.limit(c.pos, reasonElements)
	}
	if !c.inObject() {
		return nil
	}
	name := skipSpace(c.text, c.pos)
	if name == len(c.text) || c.text[name] != '"' {
		return c.wanted(name, reasonName)
	}
	end, escaped, reason := scanString(c.text, name+1)
	if reason != "" {
		return c.syntax(end, reason)
	}
	colon := skipSpace(c.text, end)
	if colon == len(c.text) || c.text[colon] != ':' {
		return c.wanted(colon, reasonColon)
	}
	c.pos = skipSpace(c.text, colon+1)
	if c.depth <= outlined && c.outline != nil {
		c.outline.begin(c.depth, name, end, c.pos, escaped)
	}
	return nil
}

// end returns an error if anything but space follows the value.
func (c *checker) end() error {
	if c.pos = skipSpace(c.text, c.pos); c.pos < len(c.text) {
		return c.syntax(c.pos, reasonTrailing)
	}
	return nil
}

func (c *checker) push(object bool) {
	if c.depth > 0 && c.depth%64 == 0 {
		c.spill = append(c.spill, c.open)
	}
	c.depth++
	c.open <<= 1
	if object {
		c.open |= 1
	}
}

func (c *checker) pop() {
	c.depth--
	c.open >>= 1
	if c.depth > 0 && c.depth%64 == 0 {
		c.open = c.spill[len(c.spill)-1]
		c.spill = c.spill[:len(c.spill)-1]
	}
}

func (c *checker) inObject() bool { return c.open&1 == 1 }

func closer(object bool) byte {
	if object {
		return '}'
	}
	return ']'
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
