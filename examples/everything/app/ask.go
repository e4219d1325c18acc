package app

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/kagami-mcp/kagami/framework"
)

// answerTokens is the maximum length of an answer of the client's model.
const answerTokens = 100

// enumForm has all five ways to write a choice. No Go type has the deprecated one.
const enumForm = `{"type":"object","properties":{
 "untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
 "titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
 "legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
 "untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
 "titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}},
 "required":[]}`

func askTools() []framework.Component {
	return []framework.Component{
		framework.Tool("test_sampling", sampling, framework.Describe("Asks the client's model."), framework.ReadOnly()),
		framework.Tool("test_elicitation", elicitation, framework.Describe("Asks the user for a name and an address."), framework.ReadOnly()),
		framework.Tool("test_elicitation_sep1034_defaults", elicitDefaults,
			framework.Describe("Asks the user, with a default for every kind of field."), framework.ReadOnly()),
		framework.Tool("test_elicitation_sep1330_enums", elicitEnums,
			framework.Describe("Asks the user to choose, in every way there is."), framework.ReadOnly()),
		framework.Tool("test_missing_capability", needsModel,
			framework.Describe("Cannot work without the client's model."), framework.ReadOnly()),
	}
}

type promptIn struct {
	Prompt string `json:"prompt" doc:"what to ask the model"`
}

func sampling(ctx context.Context, in promptIn) (string, error) {
	said, err := framework.Generate(ctx, in.Prompt, framework.MaxTokens(answerTokens))
	if err != nil {
		return "", err
	}
	return "LLM response: " + said.Text(), nil
}

func needsModel(ctx context.Context, _ none) (string, error) {
	return sampling(ctx, promptIn{Prompt: "Say anything."})
}

type messageIn struct {
	Message string `json:"message" doc:"what to ask the user"`
}

type user struct {
	Username string `json:"username" doc:"User's response"`
	Email    string `json:"email" doc:"User's email address"`
}

func elicitation(ctx context.Context, in messageIn) (string, error) {
	answer, err := framework.ElicitAnswer[user](ctx, in.Message)
	return report("User response", answer, err)
}

type profile struct {
	Name     string  `json:"name" doc:"User name" default:"John Doe"`
	Age      int     `json:"age" doc:"User age" default:"30"`
	Score    float64 `json:"score" doc:"User score" default:"95.5"`
	Status   string  `json:"status" doc:"User status" validate:"oneof=active inactive pending" default:"active"`
	Verified bool    `json:"verified" doc:"Verification status" default:"true"`
}

func elicitDefaults(ctx context.Context, _ none) (string, error) {
	answer, err := framework.ElicitAnswer[profile](ctx, "Please review and update the form fields with defaults")
	return report("Elicitation completed", answer, err)
}

func elicitEnums(ctx context.Context, _ none) (string, error) {
	answer, err := framework.ElicitAnswer[json.RawMessage](ctx, "Please select options from the enum fields", framework.Form(enumForm))
	return report("Elicitation completed", answer, err)
}

func report[T any](what string, answer framework.Answer[T], err error) (string, error) {
	if err != nil {
		return "", err
	}
	content := []byte("{}")
	if answer.Action == "accept" {
		if content, err = json.Marshal(answer.Value); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%s: action=%s, content=%s", what, answer.Action, content), nil
}
