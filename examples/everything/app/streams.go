package app

import (
	"context"
	"errors"
	"time"

	"github.com/kagami-mcp/kagami/framework"
)

// streamTools returns tools that test the response stream of a call.
func streamTools() []framework.Component {
	return []framework.Component{
		framework.Tool("test_reconnection", reconnection,
			framework.Describe("Releases its stream before it answers. The client reconnects for the result."), framework.ReadOnly()),
		framework.Tool("test_streaming_elicitation", streamingElicitation,
			framework.Describe("Reports progress, then asks the user if possible."), framework.ReadOnly()),
	}
}

// away is how long test_reconnection works after it has released the stream.
const away = 100 * time.Millisecond

func reconnection(ctx context.Context, _ none) (string, error) {
	framework.ReleaseStream(ctx)
	if err := sleep(ctx, away); err != nil {
		return "", err
	}
	return "Reconnection test completed successfully. If you received this, the client came back for it.", nil
}

// streamingElicitation asks on the stream of its call, or in the way that the revision allows. If
// the user cannot be asked, it continues without an answer.
func streamingElicitation(ctx context.Context, _ none) (string, error) {
	framework.Progress(ctx, 1, 2, "about to ask")
	answer, err := framework.ElicitAnswer[user](ctx, "Who are you?")
	if errors.Is(err, framework.ErrUnsupported) {
		framework.Progress(ctx, 2, 2, "not asked")
		return "The user cannot be asked.", nil
	}
	framework.Progress(ctx, 2, 2, "asked")
	return report("User response", answer, err)
}
