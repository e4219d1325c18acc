package boltstore

import (
	"strconv"

	"golang.org/x/sys/windows/registry"
)

// readBoot returns the number of starts of the machine, which Windows counts.
func readBoot() (string, error) {
	const path = `SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters`
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, path, registry.QUERY_VALUE)
	if err != nil {
		return "", err
	}
	defer func() { _ = key.Close() }() // it was only read
	boots, _, err := key.GetIntegerValue("BootId")
	return strconv.FormatUint(boots, 10), err
}
