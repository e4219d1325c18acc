package bridge

import "time"

// SetFirstPatience sets firstPatience without a lock, so only TestMain may call it.
func SetFirstPatience(d time.Duration) { firstPatience = d }
