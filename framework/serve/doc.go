// Package serve is the main function of a server program: flags, environment, signals and exit
// codes. It imports the transports; package framework does not.
//
//	func main() { serve.Main(app) }
//
// A program with its own flags, configuration or defers calls [Run] instead and ends with
// os.Exit([ExitCode](err)).
//
// The program prints its flags with --help. Without flags it serves on stdin and stdout. Most flags
// can also be set by an environment variable, such as KAGAMI_HTTP for --http; a flag takes
// precedence. [Env] changes the prefix.
//
// While the server serves stdio, only MCP messages are written to stdout. Errors, hints, and the
// output of the program and its children go to stderr, from the first OnStart function to the last
// OnStop function. The program and its children read the null device, because only the protocol
// reads the standard input.
//
// SIGINT and SIGTERM end the server after the calls in flight have ended or their grace period is
// over. If the client has already closed the input, the server ends at once. A second signal ends
// the process at once. On stdio, SIGHUP ends the server in the same way, because a terminal sends it
// when it is closed. The package never uses flag.CommandLine.
//
// On stdio, credentials come from the environment: see [Stdio].
//
// The package does not read configuration files and does not daemonize.
package serve
