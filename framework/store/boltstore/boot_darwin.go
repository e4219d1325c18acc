package boltstore

import "golang.org/x/sys/unix"

// readBoot returns an ID that changes each time the machine starts.
func readBoot() (string, error) { return unix.Sysctl("kern.bootsessionuuid") }
