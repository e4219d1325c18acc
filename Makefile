# The commands that a maintainer needs; CONTRIBUTING.md has their times.
GOLANGCI = go tool -modfile=cmd/tools/go.mod golangci-lint

.PHONY: test race lint api ci

test: ## the quick check from the README
	go test ./...

race: ## the same with the race detector, in another order each time
	go test -race -shuffle=on -timeout 40m ./...

lint: ## what the style asks for
	$(GOLANGCI) run ./...

api: ## compare the exported API with the last release
	.ci/api

ci: ## everything that must pass before a push, from a clean clone
	.ci/run
