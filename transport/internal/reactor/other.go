//go:build !linux

package reactor

import "net"

// Listener returns l.
func Listener(l net.Listener, always bool) net.Listener { return l }
