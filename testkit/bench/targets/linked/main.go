// Command linked is what a Go program costs to start that has net/http and
// encoding/json in it, as every server has: it decodes the first line, and encodes an
// answer.
package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
)

type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result"`
}

type server struct {
	ProtocolVersion string            `json:"protocolVersion"`
	Capabilities    struct{}          `json:"capabilities"`
	ServerInfo      map[string]string `json:"serverInfo"`
}

func main() {
	if len(os.Args) > 1 { // so that it is linked
		os.Exit(serve(os.Args[1]))
	}
	in := bufio.NewReader(os.Stdin)
	line, err := in.ReadBytes('\n')
	if err != nil {
		os.Exit(1)
	}
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		os.Exit(1)
	}
	m.Result = server{ProtocolVersion: "2025-11-25", ServerInfo: map[string]string{"name": "linked", "version": "1"}}
	if err := json.NewEncoder(os.Stdout).Encode(m); err != nil {
		os.Exit(1)
	}
	_, _ = in.ReadByte() // until the client closes
}

func serve(addr string) int {
	if http.ListenAndServe(addr, http.NotFoundHandler()) != nil { //nolint:gosec // nobody starts it so
		return 1
	}
	return 0
}
