package framework_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

type seatsIn struct {
	Seats int    `json:"seats" title:"Seats" validate:"min=1,max=10"`
	Mail  string `json:"mail,omitempty" validate:"email"`
	Age   int    `json:"age,omitempty" default:"18" validate:"min=18"`
	Note  string `json:"note,omitempty"`
}

func (b seatsIn) Validate(context.Context) error {
	if b.Note == "never" {
		return errors.New("nobody may write never")
	}
	return nil
}

// TestFormAnswers: what clients make of fields that were left blank is no fault of the person who
// is asked, and what is one is said in a person's words.
func TestFormAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, content, again string }{
		{"right", `{"seats":2,"mail":"a@b.example","age":20,"note":"x"}`, ""},
		{"blank as null", `{"seats":2,"mail":null,"age":null,"note":null}`, ""},
		{"blank as empty texts", `{"seats":2,"mail":"","age":"","note":""}`, ""},
		{"more than was asked", `{"seats":2,"_submit":"OK","csrf":{"a":1}}`, ""},
		{"texts for numbers", `{"seats":"2","age":"20"}`, ""},
		{"out of bounds", `{"seats":99}`, "- Seats must be a whole number from 1 to 10, not 99."},
		{"missing", `{"seats":null,"mail":"x"}`, "- Seats is missing. It must be a whole number from 1 to 10.\n- Mail must be an email address, not \"x\"."},
		{"by a rule of the program", `{"seats":1,"note":"never"}`, "- nobody may write never."},
		{"a list for a number", `{"seats":[1]}`, "fails"},
		{"an object for a text", `{"seats":1,"note":{"a":1}}`, "fails"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			allRevisions(t, func(t *testing.T, rev protocol.Revision) {
				if rev == protocol.Rev20241105 || rev == protocol.Rev20250326 {
					return // no elicitation
				}
				var got seatsIn
				s := build(t, quiet().Add(doing(func(ctx context.Context) error {
					var err error
					got, err = framework.Elicit[seatsIn](ctx, "How many?")
					return err
				})))
				var asked []string
				a := newAsker(t, s, rev, func(_ string, q question) string {
					asked = append(asked, q.Message)
					if len(asked) > 1 {
						return `{"action":"accept","content":{"seats":3}}`
					}
					return `{"action":"accept","content":` + c.content + `}`
				})
				result := a.do("tools/call", `{"name":"t"}`)
				switch c.again {
				case "fails":
					result.isError()
					if len(asked) != 1 {
						t.Errorf("asked %q", asked)
					}
				case "":
					if len(asked) != 1 || got.Seats != 2 || got.Age < 18 {
						t.Errorf("asked %q, got %+v", asked, got)
					}
				default:
					want := "How many?\n\nPlease correct this:\n" + c.again
					if len(asked) != 2 || asked[1] != want {
						t.Errorf("asked %q, want %q", asked, want)
					}
				}
			})
		})
	}
}

// TestArgumentsInAText: all arguments of a tool in one text are read, which the result tells.
func TestArgumentsInAText(t *testing.T) {
	t.Parallel()
	allRevisions(t, func(t *testing.T, rev protocol.Revision) {
		step := func(ctx context.Context, call *framework.Call, next framework.Next[*protocol.CallToolResult]) (*protocol.CallToolResult, error) {
			if !strings.HasPrefix(string(call.Arguments), "{") {
				t.Errorf("a middleware sees %s", call.Arguments)
			}
			return next(ctx, call)
		}
		s := build(t, quiet().Use(framework.OnToolCall("looks", step)).Add(framework.Tool("search", search), framework.Tool("bare", none)))
		got := dial(t, s, rev).tool("search", `"{\"query\":\"go\",\"limit\":\"7\"}"`).tool()
		if got.IsError || fmt.Sprint(got.Meta["kagami/repaired"]) != "[ /limit]" {
			t.Errorf("%+v", got)
		}
		for _, nothing := range []string{`""`, `" \n"`, `"null"`} {
			got := dial(t, s, rev).tool("bare", nothing).tool()
			if got.IsError || fmt.Sprint(got.Meta["kagami/repaired"]) != "[]" {
				t.Errorf("%s: %+v", nothing, got)
			}
			dial(t, s, rev).tool("search", nothing).mentions("/query", "missing")
		}
		for _, bad := range []string{`"text"`, `"[]"`, `"{\"query\":"`, `"\"{}\""`, `7`} {
			dial(t, s, rev).tool("search", bad).code(protocol.CodeInvalidParams)
		}
		strict := build(t, quiet(framework.WithoutRepair()).Add(framework.Tool("search", search)))
		dial(t, strict, rev).tool("search", `"{\"query\":\"go\"}"`).code(protocol.CodeInvalidParams)
	})
}
