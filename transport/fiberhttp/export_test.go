package fiberhttp

// Together makes connections members of a loop of package reactor from the start.
func Together() Option {
	return optionFunc(func(c *config) { c.Always = true })
}
