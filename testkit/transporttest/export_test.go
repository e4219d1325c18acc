package transporttest

import "time"

// HurryUp shortens the time that the suites wait, for tests of a carrier that hangs.
func HurryUp() { patience = time.Second }
