// Command hello is the smallest server. The README shows it.
//
//	go run ./cmd/kagami call ./examples/hello hello name=Ada
package main
