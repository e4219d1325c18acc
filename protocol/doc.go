// Package protocol is the version-neutral model of the Model Context Protocol: its requests,
// results and notifications, independent of the revision.
//
// The types have the members of the newest revision that defines them. Package
// [github.com/kagami-mcp/kagami/protocol/dialect] translates them from and to the wire form of each
// of the five published revisions. The types have no wire form of their own, so their fields have
// no json tags.
//
// Values are plain data. They are safe to read concurrently. Callers must not change a value after
// they have passed it to the engine or a client. Raw JSON fields hold one valid JSON value each.
package protocol
