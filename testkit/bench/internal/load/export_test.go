package load

// Until is Run with a clock of the test's.
func (s *Stdio) Until(over func() bool) Round { return s.until(over) }
