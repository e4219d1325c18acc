package bridge

import "time"

// SetFirstPatience is for TestMain: it is not guarded.
func SetFirstPatience(d time.Duration) { firstPatience = d }
