package oauth_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/kagami-mcp/kagami/protocol/client/oauth"
)

// workloads is an authorization server that gives tokens for the assertion "good".
type workloads struct {
	*httptest.Server

	mu    sync.Mutex
	asked []string
}

func newWorkloads(t *testing.T) *workloads {
	t.Helper()
	w := &workloads{}
	w.Server = httptest.NewServer(w)
	t.Cleanup(w.Close)
	return w
}

func (w *workloads) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	out.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodGet {
		_, _ = fmt.Fprintf(out, `{"issuer":%q,"authorization_endpoint":"%[2]s/authorize","token_endpoint":"%[2]s/token","registration_endpoint":"%[2]s/register","code_challenge_methods_supported":["S256"]}`, w.URL, w.URL)
		return
	}
	_ = r.ParseForm()
	w.mu.Lock()
	defer w.mu.Unlock()
	f := r.PostForm
	w.asked = append(w.asked, fmt.Sprintf("%s %s %s for %s by %s", r.URL.Path, f["grant_type"], f["assertion"], f["resource"], f["client_id"]))
	if f.Get("assertion") != "good" {
		out.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(out, `{"error":"invalid_grant","error_description":"not of this platform"}`)
		return
	}
	_, _ = io.WriteString(out, `{"access_token":"access","token_type":"Bearer","expires_in":3600}`)
}

// A workload gets a token for the platform's assertion, without a page and without a registration. A
// refusal is final: there is one request, and no other grant.
func TestX4_WorkloadIdentity(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("good\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the platform is away")
	for name, tt := range map[string]struct {
		source    func(ctx context.Context, issuer, resource string) (string, error)
		assertion string // "": none is sent
		want      error
	}{
		"a file": {oauth.AssertionFile(file), "good", nil},
		"refused": {func(_ context.Context, issuer, resource string) (string, error) {
			return "for " + issuer + " and " + resource, nil
		}, "for %s and %s", oauth.ErrDenied},
		"no file":   {oauth.AssertionFile(file + "2"), "", os.ErrNotExist},
		"no source": {func(context.Context, string, string) (string, error) { return "", broken }, "", broken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkloads(t)
			s := script(t, map[string]string{
				"/mcp": `401|challenge Bearer resource_metadata="URL/prm"`,
				"/prm": `{"resource":"URL/mcp","authorization_servers":["` + w.URL + `"]}`,
			})
			server := s.URL + "/mcp"
			_, err := flow(t, oauth.Assertion(tt.source)).Login(t.Context(), server)
			if !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v", err, tt.want)
			}
			var want []string
			if tt.assertion != "" {
				assertion := tt.assertion
				if tt.want != nil {
					assertion = fmt.Sprintf(assertion, w.URL, server)
				}
				want = []string{"/token [urn:ietf:params:oauth:grant-type:jwt-bearer] [" + assertion + "] for [" + server + "] by []"}
			}
			if !slices.Equal(w.asked, want) {
				t.Errorf("requests %q, want %q", w.asked, want)
			}
		})
	}
}
