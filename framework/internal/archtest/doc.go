// Package archtest holds tests that keep the architecture: who may import whom,
// where revisions are named, what is documented, how long things may get. They
// parse the module's files themselves, because a test that shells out to go list
// is hidden by go test's cache. There is no other code here.
package archtest
