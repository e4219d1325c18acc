package app

import (
	"context"
	"strings"

	"github.com/kagami-mcp/kagami/framework"
)

func prompts() []framework.Component {
	return []framework.Component{
		framework.Prompt("test_simple_prompt", simplePrompt, framework.Describe("A prompt without arguments.")),
		framework.Prompt("test_prompt_with_arguments", promptWithArguments,
			framework.Describe("A prompt with two arguments."),
			framework.Complete("arg1", completeArgument), framework.Complete("arg2", completeArgument)),
		framework.Prompt("test_prompt_with_embedded_resource", promptWithResource,
			framework.Describe("A prompt that carries a resource.")),
		framework.Prompt("test_prompt_with_image", promptWithImage, framework.Describe("A prompt that carries an image.")),
		framework.Prompt("test_input_required_result_prompt", promptThatAsks, framework.Describe("A prompt that asks the user.")),
	}
}

type contextual struct {
	Context string `json:"context"`
}

func promptThatAsks(ctx context.Context, _ none) (framework.Messages, error) {
	user, err := framework.Elicit[contextual](ctx, "What context should the prompt use?", framework.Key("user_context"))
	if err != nil {
		return nil, err
	}
	return framework.Messages{framework.User("Use this context: " + user.Context)}, nil
}

func simplePrompt(context.Context, none) (framework.Messages, error) {
	return framework.Messages{framework.User("This is a simple prompt for testing.")}, nil
}

type twoArgs struct {
	Arg1 string `json:"arg1" doc:"First test argument"`
	Arg2 string `json:"arg2" doc:"Second test argument"`
}

func promptWithArguments(_ context.Context, args twoArgs) (framework.Messages, error) {
	return framework.Messages{
		framework.Userf("Prompt with arguments: arg1='%s', arg2='%s'", args.Arg1, args.Arg2),
	}, nil
}

func completeArgument(_ context.Context, prefix string, _ map[string]string) ([]string, error) {
	var fit []string
	for _, value := range []string{"paris", "park", "party", "test", "testValue1", "testValue2"} {
		if strings.HasPrefix(value, prefix) {
			fit = append(fit, value)
		}
	}
	return fit, nil
}

type resourceArgs struct {
	ResourceURI string `json:"resourceUri" doc:"URI of the resource to embed"`
}

func promptWithResource(_ context.Context, args resourceArgs) (framework.Messages, error) {
	return framework.Messages{
		framework.UserBlock(framework.Embedded{Contents: framework.Contents{
			URI: args.ResourceURI, MIME: "text/plain", Text: "Embedded resource content for testing.",
		}}),
		framework.User("Please process the embedded resource above."),
	}, nil
}

func promptWithImage(ctx context.Context, _ none) (framework.Messages, error) {
	image, err := imageContent(ctx, none{})
	return framework.Messages{
		framework.UserBlock(image),
		framework.User("Please analyze the image above."),
	}, err
}
