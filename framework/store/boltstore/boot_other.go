//go:build !linux && !darwin && !windows

package boltstore

import "errors"

// readBoot returns an error: this system has no ID that is known to change each time the machine
// starts.
func readBoot() (string, error) { return "", errors.ErrUnsupported }
