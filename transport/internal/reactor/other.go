//go:build !linux

package reactor

import (
	"context"
	"net"
)

// Listener returns l.
func Listener(l net.Listener, always bool) net.Listener { return l }

// Wait returns.
func Wait(context.Context, net.Listener) {}
