package dialect

import "github.com/kagami-mcp/kagami/protocol"

// dialects holds all dialects, oldest first; nothing writes to it.
var dialects = history()

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
func Handshake(requested string) *Dialect {
	var newest *Dialect
	for _, d := range dialects {
		if !d.handshake {
			continue
		}
		if d.rev.String() == requested {
			return d
		}
		newest = d
	}
	return newest
}

// PerRequest finds the dialect of a revision that requests name in their _meta
// (2026-07-28 basic/versioning); false where the version is unknown or belongs
// to a handshake.
func PerRequest(version string) (*Dialect, bool) {
	for _, d := range dialects {
		if !d.handshake && d.rev.String() == version {
			return d, true
		}
	}
	return nil, false
}

// PerRequestVersions lists the versions that PerRequest finds, oldest first: the
// supportedVersions of server/discover and the supported of an
// UnsupportedProtocolVersion error. Handshake revisions are left out: a client
// that picked one from the list could not name it in a request. The slice is
// the caller's.
func PerRequestVersions() []string {
	var versions []string
	for _, d := range dialects {
		if !d.handshake {
			versions = append(versions, d.rev.String())
		}
	}
	return versions
}

// KnownHandshake says whether version is the date of a revision with sessions.
func KnownHandshake(version string) bool {
	for _, d := range dialects {
		if d.handshake && d.rev.String() == version {
			return true
		}
	}
	return false
}
