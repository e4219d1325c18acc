package page_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve/page"
)

type compared struct {
	Equal          bool
	A, B           struct{ Opening, Sent, Received int }
	Sent, Received []struct {
		A, B, Mark string
		N          int
	}
	Differences []struct{ Title, Why string }
}

// TestCompare: the same call at each pair of revisions says the same, and the page has words for
// every difference on the wire.
func TestCompare(t *testing.T) {
	t.Parallel()
	b := opened(t, page.Options{Host: host(t)})
	for i, left := range revisions() {
		for _, right := range revisions()[i:] {
			for name, arguments := range map[string]string{"result": `{"a":1,"b":2}`, "wrong arguments": `{"a":"x"}`, "none": `{}`} {
				var c compared
				b.ask(http.MethodPost, "/api/compare", fmt.Sprintf(`{"method":"tools/call","name":"add","arguments":%s,"a":%q,"b":%q}`, arguments, left, right), &c)
				if !c.Equal || len(c.Sent) == 0 || len(c.Received) == 0 || c.A.Opening < 2 || c.A.Sent == 0 || c.B.Received == 0 {
					t.Errorf("%s, %s and %s: %+v", name, left, right, c)
				}
				if (left == right) != (len(c.Differences) == 0) && right == "2026-07-28" {
					t.Errorf("%s, %s and %s: differences %+v", name, left, right, c.Differences)
				}
				for _, d := range c.Differences {
					if d.Title == "Another difference" {
						t.Errorf("%s, %s and %s: there are no words for a difference in %+v, %+v", name, left, right, c.Sent, c.Received)
					}
				}
			}
		}
	}
	for _, order := range []string{`{"method":"tools/call","name":"add","a":"2020-01-01","b":"2026-07-28"}`, `{"method":"resources/subscribe","name":"x","a":"2026-07-28","b":"2026-07-28"}`} {
		if status := b.do(http.MethodPost, "/api/compare", order, nil).status; status != http.StatusBadRequest {
			t.Errorf("%s: %d", order, status)
		}
	}
}

// TestCompareDigits: answers whose numbers differ only beyond 2^53 are not equal.
func TestCompareDigits(t *testing.T) {
	t.Parallel()
	large := framework.Tool("large", func(ctx context.Context, _ struct{}) (sum, error) {
		if framework.CallerLite(ctx).Revision == "2026-07-28" {
			return sum{9007199254740993}, nil
		}
		return sum{9007199254740992}, nil
	})
	b := opened(t, page.Options{Host: host(t, large)})
	var c compared
	b.ask(http.MethodPost, "/api/compare", `{"method":"tools/call","name":"large","arguments":{},"a":"2025-11-25","b":"2026-07-28"}`, &c)
	if c.Equal || len(c.Received) == 0 {
		t.Errorf("equal: %t, %+v", c.Equal, c.Received)
	}
}
