package page_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve/page"
)

type proof struct {
	Password string `json:"password"`
}

// TestSecretAnswer: a field of a question that is secret by its name or schema is masked in everything
// that is kept, also after the lists were read again. What a tool says of it is masked in a saved session.
func TestSecretAnswer(t *testing.T) {
	t.Parallel()
	unlock := framework.Tool("unlock", func(ctx context.Context, _ struct{}) (string, error) {
		said, err := framework.Elicit[proof](ctx, "Who are you?")
		return "Opened with " + said.Password, err
	})
	for _, rev := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run("by its name/"+rev, func(t *testing.T) {
			t.Parallel()
			secretAnswer(t, page.Options{Host: host(t, unlock)}, rev, "password")
		})
	}
	t.Run("by its schema", func(t *testing.T) {
		t.Parallel()
		secretAnswer(t, page.Options{Command: func(context.Context) (*exec.Cmd, error) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), isProgram+"=1")
			return cmd, nil
		}}, "2025-11-25", "pin")
	})
}

// secretAnswer calls the tool unlock twice. It asks for the secret field.
func secretAnswer(t *testing.T, o page.Options, rev, field string) {
	t.Helper()
	b := opened(t, o)
	b.ask(http.MethodPost, "/api/connect", `{"revision":"`+rev+`"}`, nil)
	for n := range 2 {
		b.ask(http.MethodGet, "/api/offers", "", nil)
		id := b.start(`{"method":"tools/call","name":"unlock","arguments":{}}`)
		q := b.question()
		if len(q.Secrets) != 1 || q.Secrets[0] != field {
			t.Errorf("the question has the secrets %q", q.Secrets)
		}
		b.ask(http.MethodPost, "/api/questions/"+q.ID, fmt.Sprintf(`{"action":"accept","content":{%q:"geheim-%d"}}`, field, n), nil)
		if d := b.end(id); !strings.Contains(string(d.Result), "Opened with geheim-") {
			t.Fatalf("%+v, result %s", d, d.Result)
		}
		for _, path := range []string{"frames", "calls/" + id + "/record"} {
			whole := b.do(http.MethodGet, "/api/"+path, "", nil).body
			if strings.Contains(strings.ReplaceAll(whole, "Opened with geheim-", ""), "geheim") {
				t.Errorf("%s has the secret: %s", path, whole)
			}
		}
	}
	if session := b.do(http.MethodGet, "/api/session", "", nil).body; strings.Contains(session, "geheim") {
		t.Errorf("the session has the secret: %s", session)
	}
}
