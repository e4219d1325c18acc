package browser_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve/page"
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

// TestSecretKey: a value under a key such as API_KEY is not shown, and not kept for a reload.
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

// TestQuestionsOfHiddenCalls: a question stays where it can be answered when its tool disappears, or when
// its resource is read again.
func TestQuestionsOfHiddenCalls(t *testing.T) {
	asks := func(ctx context.Context) (string, error) {
		said, err := framework.Elicit[string](ctx, "What is the word?")
		return "The word is " + said + ".", err
	}
	tool := framework.Tool("passing", func(ctx context.Context, _ none) (string, error) { return asks(ctx) }, framework.Describe("Asks."), framework.ReadOnly())
	server, err := framework.New("hidden", "1.0").Add(tool,
		framework.Resource("hidden://word", asks, framework.Name("word"), framework.Describe("Asks."))).Build()
	if err != nil {
		t.Fatal(err)
	}
	b := newTab(t)
	b.open(serve(t, page.Options{Host: server, Where: "./hidden"}))
	b.click(".rail a", "word")
	b.sees(".asks", "What is the word?")
	b.click("[data-call]", "Read")
	b.until(func() bool {
		return b.eval("fetch('api/questions', { headers: { 'Kagami-Page': localStorage.getItem('kagami-secret') } }).then(r => r.json()).then(q => q.length)") == "2"
	}, func() string { return "the second read asks nothing" })
	for _, word := range []string{"one", "two"} {
		b.fill(".asks input", word)
		b.click(".asks .go button", "Answer")
		b.sees("[aria-label='What the server says']", "")
	}
	b.sees("[aria-label='What the server says']", "The word is ")
	b.click(".rail a", "passing")
	b.click("[data-call]", "Call")
	b.sees(".asks", "What is the word?")
	server.Remove(tool)
	b.sees("h1", "There is no tool of this name")
	b.fill(".asks input", "three")
	b.click(".asks .go button", "Answer")
	b.until(func() bool { return b.text(".asks") == "" }, func() string { return "the question stays" })
}

// TestSecretOfAnyType: a value under a key such as API_KEY is not shown, also if the schema does not say
// that it is a text, or does not have the key.
func TestSecretOfAnyType(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, taker(t, "start", `{"type":"object","properties":{"env":{"type":"object","additionalProperties":true},"tokens":{"type":"array","items":{"type":"string"}}}}`)))
	b.click(".rail a", "start")
	b.fill("[aria-labelledby=f_env-l] input", "API_KEY")
	b.keys(kb.Enter)
	b.fill("#f_env_API-5fKEY", "geheim-2")
	if kind := b.eval("document.querySelector('#f_env_API-5fKEY').type"); kind != "password" {
		t.Errorf("the type is %s", kind)
	}
	b.json(`{"env":{"API_KEY":"geheim-2"},"tokens":["geheim-3"],"PASSWORD":"geheim-4","password":["geheim-5"]}`)
	b.sees("form", "not in the schema")
	for n := range 4 {
		secret := fmt.Sprintf("geheim-%d", n+2)
		if text := b.text("form"); strings.Contains(text, secret) || b.eval("[...document.querySelectorAll('form :is(textarea, input:not([type=password]))')].some(e => e.value.includes('"+secret+"'))") != "false" {
			t.Errorf("%s is shown: %s", secret, text)
		}
	}
}
