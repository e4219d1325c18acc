package boltstore

import "os"

// readBoot returns an ID that changes each time the machine starts.
func readBoot() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(id), err
}
