// Command hello is the smallest server: the one that the README shows.
//
//	go run ./cmd/kagami call ./examples/hello hello name=Ada
package main
