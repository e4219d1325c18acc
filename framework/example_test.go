package framework_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kagami-mcp/kagami/framework"
)

// A tool is a function and two types; its handle can be called in a test.
func ExampleTool() {
	type In struct {
		City string `json:"city" doc:"where" validate:"min=2"`
		Days int    `json:"days,omitempty" default:"3" validate:"min=1,max=14"`
	}
	tool := framework.Tool("forecast", func(_ context.Context, in In) (string, error) {
		return fmt.Sprintf("%d days of sun in %s", in.Days, in.City), nil
	}, framework.Describe("The weather of the next days"), framework.ReadOnly())

	out, err := tool.Call(context.Background(), In{City: "Oslo"})
	fmt.Println(out, err)
	fmt.Println(tool.Check(json.RawMessage(`{"city":"Oslo","days":30,"town":"x"}`)))
	// Output:
	// 3 days of sun in Oslo <nil>
	// forecast: 2 problems.
	// 1. /days: got 30 (number). Want a whole number from 1 to 14. Default 3.
	// 2. /town: no such argument. Arguments: city, days.
	// Try: {"city":"Oslo","days":14}
}

// Any plain function will do.
func ExampleFunc() {
	app := framework.New("calc", "1.0.0").Add(
		framework.Func("add", func(a, b int) int { return a + b }, framework.Params("a", "b"), framework.Describe("Adds")),
	)
	_, err := app.Build()
	fmt.Println(err)
	// Output: <nil>
}

// A template's handle makes the URIs of its family.
func ExampleResourceTemplate() {
	type Order struct {
		User string `uri:"user"`
		Year int    `uri:"year"`
	}
	orders := framework.ResourceTemplate("orders://{user}/{year}", func(_ context.Context, o Order) (string, error) {
		return fmt.Sprintf("orders of %s in %d", o.User, o.Year), nil
	})
	fmt.Println(orders.URI(Order{User: "ann lee", Year: 2026}))
	// Output: orders://ann%20lee/2026
}

// Build reports every fault of every component at once.
func ExampleApp_Build() {
	_, err := framework.New("shop", "1.0.0").Add(
		framework.Tool("re fund", func(context.Context, struct{}) (string, error) { return "", nil }, framework.Describe("Refunds")),
	).Build()
	if report, ok := errors.AsType[*framework.BuildError](err); ok {
		for _, fault := range report.Faults {
			fmt.Println(fault.Component, "-", fault.Problem, "-", fault.Fix)
		}
	}
	// Output: tool "re fund" - the name has characters that clients refuse - Use letters, digits, _ . and -
}
