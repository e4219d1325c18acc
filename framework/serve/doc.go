// Package serve is the main function of a server program: flags, environment,
// signals and exit codes. It imports concrete carriers; package framework does not.
//
//	func main() { serve.Main(app) }
//
// A program with flags, configuration or defers of its own calls [Run] instead
// and ends with os.Exit([ExitCode](err)).
//
// The program prints its flags with --help. Without flags it serves on stdin and stdout. Most flags can also be
// set by an environment variable, such as KAGAMI_HTTP for --http; a flag takes precedence. [Env] changes the
// prefix.
//
// Guarantees. While the server speaks on stdout, nothing else is written there: errors,
// hints, and whatever the program and its children print go to stderr, from the first
// OnStart function to the last OnStop function; they read the null device, as nobody but the
// protocol reads the standard input. SIGINT and SIGTERM end the server after the calls in
// flight have ended or had their grace period, or at once when the client has closed the
// input before; a second signal ends the process at once. flag.CommandLine is never touched.
//
// On stdio credentials come from the environment: see [Stdio].
//
// The package does not read configuration files and does not daemonize.
package serve
