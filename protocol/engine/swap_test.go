package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
)

// keeping takes answers without copying them, and gives memory that it has used up.
type keeping struct {
	spare []byte
	kept  [][]byte
}

func (k *keeping) Send(_ context.Context, frame []byte) error {
	k.kept = append(k.kept, []byte(string(frame)))
	return nil
}

func (k *keeping) Swap(_ context.Context, frame []byte) ([]byte, error) {
	k.kept = append(k.kept, frame)
	return k.spare, nil
}

// A long answer that was taken stays as it is, whatever is answered afterwards.
func TestAnswersAreSwapped(t *testing.T) {
	t.Parallel()
	e := engine.New(engine.Config{Info: protocol.Implementation{Name: "s", Version: "1"}, Catalog: catalog{
		"say": func(_ context.Context, c *engine.Call) (protocol.Result, error) {
			args := string(c.Params.(*protocol.CallToolParams).Arguments)
			return text(strings.Repeat(args[len(`{"a":"`):len(`{"a":"x`)], 5000)), nil
		},
	}})
	p := connect(t, e)
	p.initialize("2025-11-25", "{}")
	out := &keeping{spare: make([]byte, 100, 200)}
	for i := range 20 {
		frame := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"say","arguments":{"a":"%c"}}}`, i+10, 'a'+i)
		x, err := e.Accept(p.ctx, []byte(frame))
		if err != nil {
			t.Fatal(err)
		}
		if err := x.Serve(p.ctx, out); err != nil {
			t.Fatal(err)
		}
	}
	for i, frame := range out.kept {
		if want := strings.Repeat(string(rune('a'+i)), 5000); !strings.Contains(string(frame), `"`+want+`"`) {
			t.Errorf("answer %d is %.80s", i, frame)
		}
	}
	if len(out.kept) != 20 {
		t.Errorf("%d answers", len(out.kept))
	}
}
