package client

// HeaderArguments returns functions of a new HTTP connection. learn reads a result of tools/list. knows
// reports whether arguments of the tool are repeated in header fields.
func HeaderArguments() (learn func(result []byte), knows func(tool string) bool) {
	c := &httpConn{}
	return c.learn, func(tool string) bool { return c.tools.find(tool) != nil }
}
