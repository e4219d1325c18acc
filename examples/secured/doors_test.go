package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/client/oauth"
	"github.com/kagami-mcp/kagami/testkit"
)

// login connects as a user who presses a button, and returns the names of the tools.
func login(t *testing.T, url string, press ...string) (*client.Client, []string) {
	t.Helper()
	c, err := client.Connect(t.Context(), client.HTTP(url, oauth.Client(oauth.Keep(oauth.Memory()), oauth.Browser(testkit.Browse(t, press...)))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	var names []string
	for tool, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	return c, names
}

// The server issues the tokens itself. Ann may write, and Bob does not see the tool for it.
func TestOwnAuth(t *testing.T) {
	t.Parallel()
	p := startBy(t, func(address string) (string, []string) { return address, []string{"--own-auth"} })
	c, tools := login(t, p.url, "ann")
	if said, err := client.Call[string](t.Context(), c, "add_note", map[string]string{"text": "Buy tea"}); err != nil || said != "Noted." || len(tools) != 3 {
		t.Errorf("%q, %v; %v", said, err, tools)
	}
	c, tools = login(t, p.url, "bob")
	who, err := client.Call[Identity](t.Context(), c, "whoami", nil)
	if err != nil || who.Subject != "bob" || !slices.Equal(who.Scopes, []string{readNotes}) || slices.Contains(tools, "add_note") {
		t.Errorf("%+v, %v; %v", who, err, tools)
	}
}

// The log has the reference that an error page shows, with the reason.
func TestErrorPage(t *testing.T) {
	t.Parallel()
	p := startBy(t, func(address string) (string, []string) { return address, []string{"--own-auth"} })
	resp, err := http.Get(strings.TrimSuffix(p.url, "/mcp") + "/authorize?client_id=nobody")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile(`Reference: (\w+)`).FindSubmatch(page)
	if shown == nil || !strings.Contains(p.out.String(), "unknown client ("+string(shown[1])+")") {
		t.Errorf("%d %s\n%s", resp.StatusCode, page, p.out)
	}
}

// The server works in front of a provider at which it is registered.
func TestBroker(t *testing.T) {
	idp := testkit.IdP(t)
	idp.Client("shop", "geheim")
	t.Setenv("SECURED_CLIENT_ID", "shop")
	t.Setenv("SECURED_CLIENT_SECRET", "geheim")
	p := startBy(t, func(address string) (string, []string) { return address, []string{"--broker", idp.URL()} })
	c, _ := login(t, p.url)
	if who, err := client.Call[Identity](t.Context(), c, "whoami", nil); err != nil || who.Subject != "ann" || who.Issuer == idp.URL() {
		t.Errorf("%+v, %v", who, err)
	}
}

// The server takes the tokens of another authorization server, where clients log in.
func TestAuth(t *testing.T) {
	t.Parallel()
	idp := testkit.IdP(t)
	p := startBy(t, func(address string) (string, []string) { return address, []string{"--auth", idp.URL()} })
	c, _ := login(t, p.url)
	if who, err := client.Call[Identity](t.Context(), c, "whoami", nil); err != nil || who.Subject != "ann" || who.Issuer != idp.URL() {
		t.Errorf("%+v, %v", who, err)
	}
}

// With a store, a login outlives the server.
func TestAuthStore(t *testing.T) {
	t.Setenv("SECURED_SEAL", base64.StdEncoding.EncodeToString(make([]byte, 32)))
	address, kept := freeAddress(t), oauth.Memory()
	args := []string{"--own-auth", "--auth-store", "file:" + filepath.Join(t.TempDir(), "logins")}
	var pages atomic.Int64
	browse := testkit.Browse(t, "ann")
	login := oauth.Client(oauth.Keep(kept), oauth.Browser(func(ctx context.Context, page string) error {
		pages.Add(1)
		return browse(ctx, page)
	}))
	for run := range 2 {
		t.Run(fmt.Sprint("run ", run), func(t *testing.T) {
			p, ok := startAt(t, address, address, args)
			if !ok {
				t.Skip("another process took the address")
			}
			c, err := client.Connect(t.Context(), client.HTTP(p.url, login))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			if who, err := client.Call[Identity](t.Context(), c, "whoami", nil); err != nil || who.Subject != "ann" || pages.Load() != 1 {
				t.Errorf("%+v, %v after %d logins", who, err, pages.Load())
			}
		})
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	for _, wrong := range [][]string{
		{"--broker"},
		{"--own-auth", "--broker=https://x.example"},
		{"--auth="},
		{"--auth", "https://x.example", "--own-auth"},
		{"--auth-store", "file:x"},
		{"--auth-store", "file:x", "--auth", "https://x.example"},
	} {
		if _, _, err := choose(wrong); err == nil {
			t.Errorf("%v is taken", wrong)
		}
	}
	c, rest, err := choose([]string{"--http", ":1", "--broker=https://x.example", "-v"})
	if err != nil || c.broker != "https://x.example" || !slices.Equal(rest, []string{"--http", ":1", "-v"}) {
		t.Errorf("%+v %v %v", c, rest, err)
	}
}

// A key that is missing or too short is refused before the server starts.
func TestSeal(t *testing.T) {
	for _, key := range []string{"", "c2hvcnQ=", "not base64"} {
		t.Setenv("SECURED_SEAL", key)
		_, err := choice{own: true, store: "file:" + filepath.Join(t.TempDir(), "logins")}.open(t.Context(), "http://127.0.0.1:1/mcp", "", io.Discard)
		if err == nil || !strings.Contains(err.Error(), "SECURED_SEAL") {
			t.Errorf("%q: %v", key, err)
		}
	}
}
