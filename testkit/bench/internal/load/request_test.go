package load_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/testkit/bench/internal/load"
)

// TestPOST: what is written is HTTP, with the headers of each revision, and ids change
// where they stand and nowhere else.
func TestPOST(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		era    load.Era
		header map[string]string
		none   string
	}{
		{load.Handshake(), map[string]string{"Mcp-Session-Id": "s", "Mcp-Protocol-Version": "2025-11-25"}, "Mcp-Method"},
		{load.Stateless(), map[string]string{"Mcp-Method": "tools/call", "Mcp-Name": "notify", "Mcp-Protocol-Version": "2026-07-28"}, "Mcp-Session-Id"},
	} {
		to := load.Site{Addr: "127.0.0.1:80", Accept: load.AcceptBoth}
		if tt.era.Sessions() {
			to.Session = "s"
		}
		request := tt.era.Reported("notify", `{"n":1}`).POST(to)
		before := len(request.Bytes())
		request.SetID(9_999_999_999)
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(string(request.Bytes()))))
		if err != nil || len(request.Bytes()) != before {
			t.Fatal(err)
		}
		for name, want := range tt.header {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q", tt.era, name, got)
			}
		}
		if r.Header.Get(tt.none) != "" {
			t.Errorf("%s has %s", tt.era, tt.none)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		var m struct {
			ID     uint64 `json:"id"`
			Params struct {
				Meta map[string]json.RawMessage `json:"_meta"`
			} `json:"params"`
		}
		if err := json.Unmarshal(body, &m); err != nil || m.ID != request.ID() || string(m.Params.Meta["progressToken"]) != "9999999999" {
			t.Errorf("%s: %v: %s", tt.era, err, body)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	request := load.Handshake().Call("add", `{}`).Line()
	request.SetID(1_234_567_890)
	filler := strings.Repeat(`"x",`, 2000)
	for name, tt := range map[string]struct {
		answer string
		ok     bool
	}{
		"right":             {`{"jsonrpc":"2.0","id":1234567890,"result":{}}`, true},
		"the id last":       {`{"jsonrpc":"2.0","result":{"content":[` + filler + `1]},"id":1234567890}`, true},
		"an id inside":      {`{"jsonrpc":"2.0","result":{"items":[{"id":"doc-1"}]},"id":1234567890}`, true},
		"a longer id":       {`{"jsonrpc":"2.0","id":12345678901,"result":{}}`, false},
		"a foreign id":      {`{"jsonrpc":"2.0","id":1234567891,"result":{}}`, false},
		"an error":          {`{"jsonrpc":"2.0","id":1234567890,"error":{"code":-32602,"message":"m"}}`, false},
		"a failed tool":     {`{"jsonrpc":"2.0","id":1234567890,"result":{"content":[],"isError":true}}`, false},
		"a failed one, far": {`{"jsonrpc":"2.0","id":1234567890,"result":{"content":[` + filler + `1],"isError":true}}`, false},
		"nothing":           {``, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := request.Check([]byte(tt.answer)); (err == nil) != tt.ok {
				t.Error(err)
			}
		})
	}
	if err := request.Check([]byte(`{"id":1234567890,"error":{}}`)); errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "not a result") {
		t.Error(err)
	}
}
