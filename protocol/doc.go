// Package protocol is the version-neutral model of the Model Context Protocol:
// what can be asked, answered and announced, whatever the revision.
//
// The model carries the newest shape of everything. Package
// [github.com/kagami-mcp/kagami/protocol/dialect] translates it from and to the
// wire form of each of the five published revisions; nothing here has a wire
// form of its own, which is why no field has a json tag.
//
// Values are plain data. They are safe to read concurrently; whoever hands a
// value to the engine or a client must not change it afterwards. Raw JSON
// fields hold one valid JSON value each.
package protocol
