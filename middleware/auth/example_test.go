package auth_test

import (
	"context"
	"fmt"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/middleware/auth"
)

// A resource server checks the tokens of one authorization server.
func ExampleBearer() {
	jwt := &auth.JWT{Issuer: "https://login.example.com"}
	app := framework.New("shop", "1.0.0", framework.WithAuth(auth.Bearer(jwt,
		auth.Resource("https://shop.example.com/mcp"), // and the audience of the tokens
		auth.Require("shop"),
	)))
	app.Add(framework.Tool("refund", func(context.Context, struct{}) (string, error) {
		return "Refunded.", nil
	}, framework.Describe("Pays an order back"), framework.Scopes("refunds"))) // besides "shop"
	_, err := app.Build()
	fmt.Println(err)
	// Output: <nil>
}

// Tokens that stand in the program are for development and for tests.
func ExampleStatic() {
	tokens := auth.Static{"secret-of-ada": {Subject: "ada", Scopes: []string{"shop"}}}
	app := framework.New("shop", "1.0.0", framework.WithAuth(auth.Bearer(tokens))).Add(
		framework.Tool("who", func(ctx context.Context, _ struct{}) (string, error) {
			return framework.Caller(ctx).Principal.Subject, nil
		}, framework.Describe("Says who calls"), framework.Scopes("shop"))) // without a principal, as on stdio, the tool is hidden
	_, err := app.Build()
	fmt.Println(err)
	// Output: <nil>
}
