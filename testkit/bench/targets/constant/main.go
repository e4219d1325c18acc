// Command constant is the least that a Go program needs to start: it answers the
// first line with a constant, the id aside.
package main

import (
	"bufio"
	"os"
	"strings"
)

func main() {
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		os.Exit(1)
	}
	_, id, _ := strings.Cut(line, `"id":`)
	id, _, _ = strings.Cut(id, ",")
	answer := `{"jsonrpc":"2.0","id":` + id + `,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"constant","version":"1"}}}` + "\n"
	if _, err := os.Stdout.WriteString(answer); err != nil {
		os.Exit(1)
	}
	_, _ = os.Stdin.Read(make([]byte, 1)) // until the client closes
}
