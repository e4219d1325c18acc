package interop_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// TestBothErasOnOneURL sends the requests of handshake sessions, one of each
// revision, and of 2026-07-28 at once to one process, and holds each answer against
// the era of its request.
func TestBothErasOnOneURL(t *testing.T) {
	for _, c := range carriers {
		if c.path != "/mcp" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			at := c.start(t)
			var all sync.WaitGroup
			for _, version := range versions {
				all.Go(func() { callAll(t, at, version) })
			}
			all.Wait()
		})
	}
}

// callAll makes 40 calls at one revision, all at once.
func callAll(t *testing.T, at *site, version string) {
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	meta := ""
	if version == modern {
		meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
		header["Mcp-Method"], header["Mcp-Name"] = []string{"tools/call"}, []string{"test_simple_text"}
	} else {
		hello := `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"` + version +
			`","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
		answer, body, err := post(t, at, header, hello)
		if err != nil || !bytes.Contains(body, []byte(version)) {
			t.Errorf("%s: initialize: %v, %s", version, err, body)
			return
		}
		header.Set("Mcp-Session-Id", answer.Get("Mcp-Session-Id"))
	}
	if version != "2024-11-05" && version != "2025-03-26" { // which know no such header
		header.Set("Mcp-Protocol-Version", version)
	}
	if version != modern {
		if _, body, err := post(t, at, header, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); err != nil || len(body) > 0 {
			t.Errorf("%s: initialized: %v, %s", version, err, body)
			return
		}
	}
	var calls sync.WaitGroup
	for i := range 40 {
		calls.Go(func() {
			const call = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"test_simple_text"%s}}`
			_, body, err := post(t, at, header, fmt.Sprintf(call, i, meta))
			if err == nil {
				err = judge(body, i, version == modern)
			}
			if err != nil {
				t.Errorf("%s: %v", version, err)
			}
		})
	}
	calls.Wait()
}

// judge says what is wrong with the answer to call i.
func judge(body []byte, i int, modern bool) error {
	var answer struct {
		ID     *int
		Result struct {
			ResultType string
			Content    []struct{ Text string }
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("%w: %s", err, body)
	}
	if answer.ID == nil || *answer.ID != i || len(answer.Result.Content) != 1 || (answer.Result.ResultType == "complete") != modern {
		return fmt.Errorf("answer to call %d: %s", i, body)
	}
	return nil
}

// post returns the headers of an answer and its last message.
func post(t *testing.T, at *site, header http.Header, frame string) (http.Header, []byte, error) {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at.url(), strings.NewReader(frame))
	if err != nil {
		return nil, nil, err
	}
	r.Header = header.Clone()
	answer, err := at.web.client().Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode/100 != 2 {
		err = fmt.Errorf("status %d", answer.StatusCode)
	}
	if _, data, stream := bytes.Cut(body, []byte("data: {")); stream {
		body = append([]byte("{"), data...)
	}
	return answer.Header, body, err
}
