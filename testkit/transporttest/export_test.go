package transporttest

import "time"

// HurryUp shortens the patience of the suites, for a test of a carrier that hangs.
func HurryUp() { patience = time.Second }
