package storetest

import "time"

// HurryUp shortens the time that the suites wait for a store, for tests of a store that hangs.
func HurryUp() { late = time.Second }
