// Command bench measures servers of Kagami, of the official Go SDK and of mcp-go side
// by side with what carries them: bare Fiber, bare net/http, a bare pair of pipes. It
// prints tables, and writes them and plots into docs/performance.md and its notes.
//
//	go -C testkit/bench run . -out ../../docs      everything; takes its time
//	go -C testkit/bench run . -quick               everything once, for a look
//	go -C testkit/bench run . -only http-json,stdio
//	go -C testkit/bench run . -only stdio -profile DIR    with CPU profiles of Kagami
//
// Each server is a program of its own below targets/, built by the command. All of
// them offer the tools of package sample. Targets take turns, round by round; what is
// compared are ratios within rounds. Every answer is looked at: the command fails
// where one was wrong, and where the first ones of two targets differ.
//
// The command needs Linux and the go tool.
package main
