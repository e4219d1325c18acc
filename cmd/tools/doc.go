// Package tools exists so that the development tools of Kagami have a module
// of their own. Their versions are pinned by the tool directives in go.mod,
// and their hundreds of dependencies stay out of the framework's go.mod.
//
// Use a tool from the repository's root:
//
//	go tool -modfile=cmd/tools/go.mod golangci-lint run ./...
//	go tool -modfile=cmd/tools/go.mod deadcode -test ./...
//
// The package holds no code and nothing imports it.
package tools
