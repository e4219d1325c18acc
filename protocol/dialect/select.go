package dialect

import (
	"cmp"
	"slices"

	"github.com/kagami-mcp/kagami/protocol"
)

// dialects holds all dialects, oldest first. It is read-only.
var dialects = history()

// history returns the dialects of all revisions, oldest first.
func history() (all []*Dialect) {
	for i, rev := range protocol.Revisions() {
		d := &Dialect{rev: rev, bit: 1 << i}
		d.methods = methodsOf(d)
		all = append(all, d)
	}
	for _, d := range all {
		d.all = all
	}
	return all
}

// All returns the dialects of all revisions, oldest first. The caller owns the slice.
func All() []*Dialect { return slices.Clone(dialects) }

// Of returns the dialect of a revision, or nil for the zero Revision.
func Of(rev protocol.Revision) *Dialect { return named(rev.String()) }

// Handshake returns the dialect for the version that an initialize request asks for. If that
// revision has no handshake or is unknown, Handshake returns the newest dialect with a handshake.
// It never fails, because an unknown version is part of the negotiation (2025-11-25 basic/lifecycle
// "Version Negotiation").
func Handshake(requested string) *Dialect { return negotiated(dialects, requested) }

// negotiated is Handshake for the dialects in all.
func negotiated(all []*Dialect, requested string) (newest *Dialect) {
	for _, d := range slices.Backward(all) {
		switch {
		case !d.Handshake():
		case d.rev.String() == requested:
			return d
		case newest == nil:
			newest = d
		}
	}
	return newest
}

// Sessionless returns the dialect of a request that does not belong to a session and names the
// handshake revision version. If version is empty, it returns 2025-03-26 (2025-06-18
// basic/transports "Protocol Version Header"). If version is unknown, it returns the newest dialect
// with a handshake.
func Sessionless(version string) *Dialect {
	return Handshake(cmp.Or(version, protocol.Rev20250326.String()))
}

// named returns the dialect with this date, or nil. It searches the newest first, because most
// clients use a new revision.
func named(version string) *Dialect {
	for _, d := range slices.Backward(dialects) {
		if d.rev.String() == version {
			return d
		}
	}
	return nil
}

// PerRequest returns the dialect of a revision that requests name in their _meta (2026-07-28
// basic/versioning). It returns false if the version is unknown or has a handshake.
func PerRequest(version string) (*Dialect, bool) {
	if d := named(version); d != nil && !d.Handshake() {
		return d, true
	}
	return nil, false
}

// PerRequestVersions returns the versions that PerRequest accepts, oldest first. They are the
// supportedVersions of server/discover and the supported of an UnsupportedProtocolVersion error.
// Handshake revisions are not included, because a request cannot name them. The caller owns the
// slice.
func PerRequestVersions() (versions []string) {
	for _, d := range dialects {
		if !d.Handshake() {
			versions = append(versions, d.rev.String())
		}
	}
	return versions
}

// KnownHandshake reports whether version is the date of a revision with a handshake.
func KnownHandshake(version string) bool {
	d := named(version)
	return d != nil && d.Handshake()
}
