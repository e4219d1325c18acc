package client_test

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// childEnv makes the test binary a server on its standard streams.
const childEnv = "KAGAMI_CLIENT_TEST_CHILD"

func TestMain(m *testing.M) {
	if mode := os.Getenv(childEnv); mode != "" {
		child(mode)
		return
	}
	// Servers of httptest close the idle connections of http.DefaultTransport when they end,
	// also those on which a test beside them is about to ask something.
	http.DefaultClient = &http.Client{Transport: &http.Transport{}}
	goleak.VerifyTestMain(m)
}

// child answers what a server must, by rote: ids are 1001, 1002 and so on.
func child(mode string) {
	in := bufio.NewScanner(os.Stdin)
	for id := 1001; in.Scan(); id++ {
		switch {
		case mode == "only-initialize":
			onlyInitialize(in.Text(), id)
		case strings.Contains(in.Text(), "server/discover"):
			fmt.Println("a log line that does not belong here")
			fmt.Printf(`{"jsonrpc":"2.0","id":%d,"result":%s}`+"\n", id, discovery)
		case mode == "crash":
			os.Exit(3)
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%d,"result":{"resultType":"complete","content":[{"type":"text","text":"from a child"}]}}`+"\n", id)
		}
	}
}

// onlyInitialize ends the process if the first request is not initialize, as servers of the Rust SDK
// do.
func onlyInitialize(frame string, id int) {
	switch {
	case strings.Contains(frame, `"initialize"`):
		fmt.Printf(`{"jsonrpc":"2.0","id":%d,"result":%s}`+"\n", id, initialization("2025-06-18"))
	case id == 1001:
		os.Exit(1)
	}
}
