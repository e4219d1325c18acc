package oauth_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/middleware/auth"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/client/oauth"
	"github.com/kagami-mcp/kagami/testkit"
	"github.com/kagami-mcp/kagami/transport"
)

// Shop connects to a server that may want a login.
func Shop(ctx context.Context, url string) (*client.Client, error) {
	return client.Connect(ctx, client.HTTP(url, oauth.Client()))
}

// Robot connects as a program that has no user.
func Robot(ctx context.Context, url string) (*client.Client, error) {
	return client.Connect(ctx, client.HTTP(url, oauth.Client(
		oauth.ClientCredentials(),
		oauth.Registered(oauth.Credentials{ID: "robot", Secret: os.Getenv("ROBOT_SECRET")}),
		oauth.Keep(oauth.Memory()),
	)))
}

// Hosted connects for one of the users of a web application, to servers that strangers name.
func Hosted(ctx context.Context, url, account string, tokens oauth.Store, callback oauth.Receiver, pages oauth.UI) (*client.Client, error) {
	flow, err := oauth.New(
		oauth.Keep(tokens),      // your database
		oauth.Profile(account),  // whose tokens
		oauth.Receive(callback), // your /callback
		oauth.Prompt(pages),     // shows the address of the login to the user
		oauth.NoBrowser(),       // a server has no window
		oauth.PublicOnly(),      // nothing inside your network
		oauth.Document("https://app.example.com/client.json", nil),
	)
	if err != nil {
		return nil, err
	}
	return client.Connect(ctx, client.HTTP(url, flow.HTTP()))
}

// Explain says what a user can do about a failed login.
func Explain(err error) string {
	failed, ok := errors.AsType[*oauth.Error](err)
	switch {
	case !ok:
		return "This has nothing to do with the login."
	case errors.Is(err, oauth.ErrDenied):
		return "You, or " + failed.Issuer + ", said no."
	case errors.Is(err, oauth.ErrUnavailable):
		return "Try again later. You are still logged in."
	default:
		return failed.Error()
	}
}

// TestAgent is a test of a program that logs in.
func TestAgent(t *testing.T) {
	t.Setenv("ROBOT_SECRET", "s3cret")
	issuer := testkit.IdP(t)
	issuer.Client("robot", "s3cret")
	url := guardedBy(t, issuer)

	c, err := Robot(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if who, err := client.Call[string](t.Context(), c, "who", nil); err != nil || who != "robot" {
		t.Errorf("%q, %v", who, err)
	}

	issuer.Fault(testkit.TokenDown)
	if _, err := Robot(t.Context(), url); Explain(err) != "Try again later. You are still logged in." {
		t.Errorf("%v", err)
	}
}

// guardedBy is a server that wants tokens of the issuer.
func guardedBy(t *testing.T, issuer *testkit.Issuer) string {
	t.Helper()
	return testkit.Serve(t, func(url string) *framework.App {
		guard := auth.Bearer(&auth.JWT{Issuer: issuer.URL()}, auth.Resource(url))
		return framework.New("shop", "1", framework.WithAuth(guard)).Add(
			framework.Tool("who", func(ctx context.Context, _ struct{}) (string, error) {
				return transport.PrincipalFrom(ctx).Subject, nil
			}))
	})
}

// What a login would do at a server, step by step.
func ExampleFlow_Inspect() {
	flow, err := oauth.New(oauth.Keep(oauth.Memory()))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = flow.Inspect(context.Background(), "http://shop.example.com/mcp")
	fmt.Println(errors.Is(err, oauth.ErrUnsafeURL))
	// Output: true
}
