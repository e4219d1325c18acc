package dialect

import (
	"cmp"
	"slices"

	"github.com/kagami-mcp/kagami/protocol"
)

// dialects holds all dialects, oldest first, and the others those of its two kinds; nothing
// writes to them.
var (
	dialects   = history()
	handshakes = slices.DeleteFunc(All(), func(d *Dialect) bool { return !d.handshake })
	perRequest = slices.DeleteFunc(All(), func(d *Dialect) bool { return d.handshake })
)

// All lists the dialects of all revisions, oldest first. The slice is the caller's.
func All() []*Dialect {
	return append([]*Dialect(nil), dialects...)
}

// Of is the dialect of a revision; nil for the zero Revision.
func Of(rev protocol.Revision) *Dialect {
	for _, d := range dialects {
		if d.rev == rev {
			return d
		}
	}
	return nil
}

// Handshake answers the version an initialize request asks for: that revision
// if it has a handshake, otherwise the newest that has one. It never fails:
// asking for an unknown revision is negotiation, not an error, and a revision
// without handshake must not leak into one (2025-11-25 basic/lifecycle
// "Version Negotiation").
func Handshake(requested string) *Dialect { return negotiated(dialects, requested) }

// negotiated is Handshake among all dialects.
func negotiated(all []*Dialect, requested string) (newest *Dialect) {
	for _, d := range slices.Backward(all) {
		switch {
		case !d.handshake:
		case d.rev.String() == requested:
			return d
		case newest == nil:
			newest = d
		}
	}
	return newest
}

// Sessionless is the dialect of a request that belongs to no session, by the handshake
// revision that it names; without a name that is 2025-03-26 (2025-06-18 basic/transports
// "Protocol Version Header").
func Sessionless(version string) *Dialect {
	return Handshake(cmp.Or(version, protocol.Rev20250326.String()))
}

// named is the dialect of that date, or nil. Most clients are new.
func named(among []*Dialect, version string) *Dialect {
	for _, d := range slices.Backward(among) {
		if d.rev.String() == version {
			return d
		}
	}
	return nil
}

// PerRequest finds the dialect of a revision that requests name in their _meta
// (2026-07-28 basic/versioning); false where the version is unknown or belongs
// to a handshake.
func PerRequest(version string) (*Dialect, bool) {
	d := named(perRequest, version)
	return d, d != nil
}

// PerRequestVersions lists the versions that PerRequest finds, oldest first: the
// supportedVersions of server/discover and the supported of an
// UnsupportedProtocolVersion error. Handshake revisions are left out: a client
// that picked one from the list could not name it in a request. The slice is
// the caller's.
func PerRequestVersions() []string {
	versions := make([]string, len(perRequest))
	for i, d := range perRequest {
		versions[i] = d.rev.String()
	}
	return versions
}

// KnownHandshake says whether version is the date of a revision with sessions.
func KnownHandshake(version string) bool { return named(handshakes, version) != nil }
