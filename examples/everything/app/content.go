package app

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

// step is the time between two messages of a call.
const step = 50 * time.Millisecond

// The smallest picture and the smallest sound.
const (
	pixel   = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	silence = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
)

// none is the input of a tool without arguments.
type none = struct{}

func contentTools() []framework.Component {
	return []framework.Component{
		framework.Tool("test_simple_text", simpleText, framework.Describe("Returns a text."), framework.ReadOnly()),
		framework.Tool("test_image_content", imageContent, framework.Describe("Returns an image."), framework.ReadOnly()),
		framework.Tool("test_audio_content", audioContent, framework.Describe("Returns a sound."), framework.ReadOnly()),
		framework.Tool("test_embedded_resource", embeddedResource, framework.Describe("Returns a resource."), framework.ReadOnly()),
		framework.Tool("test_multiple_content_types", multipleContent,
			framework.Describe("Returns a text, an image and a resource."), framework.ReadOnly()),
		framework.Tool("test_error_handling", errorHandling, framework.Describe("Fails."), framework.ReadOnly()),
		framework.Tool("test_tool_with_logging", withLogging, framework.Describe("Logs while it works."), framework.ReadOnly()),
		framework.Tool("test_tool_with_progress", withProgress, framework.Describe("Reports progress while it works."), framework.ReadOnly()),
	}
}

func simpleText(context.Context, none) (string, error) {
	return "This is a simple text response for testing.", nil
}

func imageContent(context.Context, none) (framework.Image, error) {
	data, err := base64.StdEncoding.DecodeString(pixel)
	return framework.Image{Data: data, MIME: "image/png"}, err
}

func audioContent(context.Context, none) (framework.Audio, error) {
	data, err := base64.StdEncoding.DecodeString(silence)
	return framework.Audio{Data: data, MIME: "audio/wav"}, err
}

func embeddedResource(context.Context, none) (framework.Embedded, error) {
	return framework.Embedded{Contents: framework.Contents{
		URI: "test://embedded-resource", MIME: "text/plain", Text: "This is an embedded resource content.",
	}}, nil
}

func multipleContent(ctx context.Context, _ none) (framework.Content, error) {
	image, err := imageContent(ctx, none{})
	return framework.Content{
		framework.Text("Multiple content types test:"),
		image,
		framework.Embedded{Contents: framework.Contents{
			URI: "test://mixed-content-resource", MIME: "application/json", Text: `{"test":"data","value":123}`,
		}},
	}, err
}

func errorHandling(context.Context, none) (string, error) {
	return "", framework.UserErrorf("This tool intentionally returns an error for testing")
}

func withLogging(ctx context.Context, _ none) (string, error) {
	for i, message := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
		if err := pause(ctx, i); err != nil {
			return "", err
		}
		framework.Notify(ctx, protocol.LevelInfo, message)
	}
	return "Tool with logging executed successfully", nil
}

func withProgress(ctx context.Context, _ none) (string, error) {
	for i, done := range []int{0, 50, 100} {
		if err := pause(ctx, i); err != nil {
			return "", err
		}
		framework.Progress(ctx, done, 100, fmt.Sprintf("Completed step %d of 100", done))
	}
	return "Tool with progress executed successfully", nil
}

// pause waits for one step, except before the first message.
func pause(ctx context.Context, i int) error {
	if i == 0 {
		return nil
	}
	return sleep(ctx, step)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func loggingTool() framework.Component {
	return framework.Tool("test_logging_tool", func(ctx context.Context, _ none) (string, error) {
		framework.Notify(ctx, protocol.LevelInfo, "This message is for those who asked for it.")
		return "Logged.", nil
	}, framework.Describe("Tries to log one message."), framework.ReadOnly())
}
