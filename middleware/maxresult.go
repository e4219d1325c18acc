package middleware

import (
	"context"
	"encoding/base64"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

// MaxResult limits the size of results in bytes. The size is the sum of texts, structured content,
// URIs and data (as base64), without the envelope and escapes. If a result has the same content in
// structured form and as text, both count, because both are sent. A larger result is replaced by an
// error that contains its size, so that the model can ask for less. Lists have pages and are not
// limited. Phase: validate.
func MaxResult(bytes int) framework.Middleware {
	if bytes < 1 {
		return broken("MaxResult: the bound must be 1 or more")
	}
	return framework.Middleware{Name: "max-result", Phase: framework.PhaseValidate, Wrap: func(next framework.Handler) framework.Handler {
		return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
			result, err := next(ctx, call)
			if err != nil || result == nil {
				return result, err
			}
			if size := sizeOf(result.Body); size > bytes {
				return nil, framework.UserErrorf("The result has %d bytes, at most %d are allowed. Ask for less.", size, bytes)
			}
			return result, nil
		}
	}}
}

// sizeOf returns the approximate size of a result on the wire.
func sizeOf(body protocol.Result) int {
	n := 0
	switch r := body.(type) {
	case *protocol.CallToolResult:
		n = len(r.Structured)
		for _, b := range r.Content {
			n += sizeOfBlock(b)
		}
	case *protocol.ReadResourceResult:
		for i := range r.Contents {
			n += sizeOfContents(&r.Contents[i])
		}
	case *protocol.GetPromptResult:
		n = len(r.Description)
		for i := range r.Messages {
			n += sizeOfBlock(r.Messages[i].Content)
		}
	case *protocol.CustomResult:
		n = len(r.Raw)
	}
	return n
}

func sizeOfBlock(block protocol.Block) int {
	switch b := block.(type) {
	case protocol.Text:
		return len(b.Text)
	case protocol.Image:
		return base64.StdEncoding.EncodedLen(len(b.Data))
	case protocol.Audio:
		return base64.StdEncoding.EncodedLen(len(b.Data))
	case protocol.Embedded:
		return sizeOfContents(&b.Contents)
	case protocol.Link:
		return len(b.URI) + len(b.Name) + len(b.Title) + len(b.Description)
	case protocol.Unknown:
		return len(b.Raw)
	}
	return 0
}

func sizeOfContents(c *protocol.Contents) int {
	return len(c.URI) + len(c.Text) + base64.StdEncoding.EncodedLen(len(c.Data))
}
