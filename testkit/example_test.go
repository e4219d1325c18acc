package testkit_test

import (
	"context"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/testkit"
)

type greeting struct {
	Name string `json:"name" doc:"who is greeted" validate:"min=1"`
}

func greeter() *framework.App {
	return framework.New("greeter", "1.0.0").Add(
		framework.Tool("greet", func(_ context.Context, in greeting) (string, error) {
			return "Hello, " + in.Name + "!", nil
		}, framework.Describe("Greets somebody")),
		framework.Tool("rename", func(ctx context.Context, _ struct{}) (string, error) {
			to, err := framework.Elicit[greeting](ctx, "What is the new name?")
			return "Renamed to " + to.Name, err
		}, framework.Describe("Asks for a name")),
	)
}

// examples are the tests that the examples show.
var examples []func(*testing.T)

func test(body func(*testing.T)) { examples = append(examples, body) }

func TestExamples(t *testing.T) {
	for _, example := range []func(){ExampleNew, ExampleMatrix, ExampleSession_OnElicit} {
		example()
	}
	for _, body := range examples {
		body(t)
	}
}

// A session is a client in memory. The server ends with the test.
func ExampleNew() {
	test(func(t *testing.T) { // in a function TestGreet
		s := testkit.New(t, greeter)
		s.CallRaw("greet", `{"name":"Ada"}`).OK().Mentions("Hello, Ada!")
		s.CallRaw("greet", `{"name":""}`).IsError().Mentions("/name")
	})
}

// Each revision is a subtest, with a fresh app.
func ExampleMatrix() {
	test(func(t *testing.T) {
		testkit.Matrix(t, greeter, func(_ *testing.T, s *testkit.Session) {
			s.CallRaw("greet", `{"name":"Ada"}`).OK()
		})
	})
}

// The script answers what a handler asks the user.
func ExampleSession_OnElicit() {
	test(func(t *testing.T) {
		s := testkit.New(t, greeter)
		s.OnElicit("new name", greeting{Name: "Ada"})
		s.CallRaw("rename", `{}`).OK().Mentions("Renamed to Ada")

		s.OnElicit("new name", testkit.Decline)
		s.CallRaw("rename", `{}`).IsError()
	})
}
