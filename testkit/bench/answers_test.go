package main

import (
	"testing"

	"github.com/kagami-mcp/kagami/testkit/bench/internal/load"
)

func TestSame(t *testing.T) {
	t.Parallel()
	answer := func(result string) load.Answer {
		return load.Answer{Body: []byte(`{"jsonrpc":"2.0","id":1000000001,"result":` + result + `}`)}
	}
	stream := func(a load.Answer) load.Answer {
		report := "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}\n\n"
		return load.Answer{SSE: true, Body: append([]byte(report+"event: message\ndata: "), append(a.Body, "\n\n"...)...)}
	}
	const call, list = `{"content":[{"type":"text","text":"{\"a\":1,\"b\":[2]}"}],"structuredContent":{"a":1,"b":[2]}}`, `{"tools":[{"name":"a"},{"name":"b"}]}`
	for name, tt := range map[string]struct {
		first, other load.Answer
		ok           bool
	}{
		"the same":             {answer(call), answer(call), true},
		"members in any order": {answer(call), answer(`{"structuredContent":{"b":[2],"a":1},"content":[{"type":"text","text":"{\"b\":[2],\"a\":1}"}],"ttlMs":0}`), true},
		"on a stream":          {answer(call), stream(answer(call)), true},
		"another value":        {answer(call), answer(`{"content":[{"type":"text","text":"{\"a\":1,\"b\":[2]}"}],"structuredContent":{"a":1,"b":[3]}}`), false},
		"no copy as text":      {answer(call), answer(`{"content":[],"structuredContent":{"a":1,"b":[2]}}`), false},
		"tools in any order":   {answer(list), answer(`{"tools":[{"name":"b"},{"name":"a"}]}`), true},
		"a page of the tools":  {answer(list), answer(`{"tools":[{"name":"a"}],"nextCursor":"b"}`), false},
		"another text":         {answer(`{"contents":[{"uri":"u","text":"x"}]}`), answer(`{"contents":[{"uri":"u","text":"y"}]}`), false},
		"no result":            {answer(call), load.Answer{Body: []byte(`{"id":1000000001}`)}, false},
		"no JSON":              {answer(call), load.Answer{Body: []byte(`{`)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := same(tt.first, tt.other); (err == nil) != tt.ok {
				t.Error(err)
			}
		})
	}
}
