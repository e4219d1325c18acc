package engine

// Probes says that this execution checks whether the one before it can be replayed
// (Config.ReplayCheck): nothing of it counts.
func (c *Call) Probes() bool { return c.silent }
