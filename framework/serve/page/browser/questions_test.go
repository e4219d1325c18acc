package browser_test

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

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

// TestSecretKey: a value of a map whose key is the name of a secret is not shown, and not kept for a
// reload.
func TestSecretKey(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, taker(t, "start", `{"type":"object","properties":{"env":{"type":"object","additionalProperties":{"type":"string"}}}}`)))
	b.click(".rail a", "start")
	for _, name := range []string{"API_KEY", "HOME"} {
		b.fill("[aria-label='Name of a new member']", name)
		b.keys(kb.Enter)
	}
	b.fill("#f_env_HOME", "plain")
	b.fill("#f_env_API-5fKEY", "geheim-2")
	if types := b.eval("document.querySelector('#f_env_API-5fKEY').type + document.querySelector('#f_env_HOME').type"); types != "passwordtext" {
		t.Errorf("the types are %s", types)
	}
	if kept := b.eval("JSON.stringify(sessionStorage)"); !strings.Contains(kept, "plain") || strings.Contains(kept, "geheim-2") {
		t.Errorf("the tab keeps %s", kept)
	}
}

// TestReloadDuringAnswer: what was filled in for a question survives a reload, except secrets, and is
// forgotten when the question is answered.
func TestReloadDuringAnswer(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, asker(t, "enter", func(ctx context.Context, _ none) (string, error) {
		who, err := framework.Elicit[whoIn](ctx, "Who are you?")
		if err != nil {
			return "", err
		}
		said, err := framework.Generate(ctx, "Greet "+who.User)
		return said.Text(), err
	})))
	kept := func() string { return b.eval("JSON.stringify(sessionStorage)") }
	b.click(".rail a", "enter")
	b.click("[data-call]", "Call")
	b.sees(".asks", "Who are you?")
	b.fill(".asks [type=text]", "ann")
	b.fill(".asks [type=password]", "geheim-3")
	if all := kept(); strings.Contains(all, "geheim-3") {
		t.Errorf("the tab keeps %s", all)
	}
	b.run(chromedp.Reload())
	b.sees(".asks", "Who are you?")
	if values := b.eval("[...document.querySelectorAll('.asks input')].map(i => i.value).join()"); values != "ann," {
		t.Errorf("after a reload the fields have %s", values)
	}
	b.fill(".asks [type=password]", "geheim-3")
	b.click(".asks button", "Answer")
	b.sees(".asks", "Greet ann")
	b.fill(".asks textarea", "Hello")
	b.run(chromedp.Reload())
	b.sees(".asks", "Greet ann")
	if text := b.value(".asks textarea"); text != "Hello" {
		t.Errorf("after a reload the model says %q", text)
	}
	b.click(".asks button", "Answer")
	b.sees("[aria-label='What the server says']", "Hello")
	if all := kept(); strings.Contains(all, "kagami-answer") {
		t.Errorf("the tab still keeps %s", all)
	}
}
