package browser_test

import (
	"context"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
)

type whoIn struct {
	User     string `json:"user"`
	Password string `json:"password"`
}

// TestSecretField: a field of a question with a name such as password does not show what is typed.
func TestSecretField(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, asker(t, "enter", func(ctx context.Context, _ none) (string, error) {
		said, err := framework.Elicit[whoIn](ctx, "Who are you?")
		return "Hello " + said.User, err
	})))
	b.click(".rail a", "enter")
	b.click("[data-call]", "Call")
	b.sees(".asks", "Who are you?")
	if types := b.eval("[...document.querySelectorAll('.asks input')].map(i => i.type).join()"); types != "text,password" {
		t.Errorf("the fields have the types %s", types)
	}
	b.fill(".asks [type=text]", "ann")
	b.fill(".asks [type=password]", "geheim-1")
	b.click(".asks button", "Answer")
	b.sees("[aria-label='What the server says']", "Hello ann")
}
