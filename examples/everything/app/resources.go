package app

import (
	"context"
	"encoding/base64"
	"fmt"
	"sync/atomic"

	"github.com/kagami-mcp/kagami/framework"
)

const watchedURI = "test://watched-resource"

func resources(w *watched) []framework.Component {
	return []framework.Component{
		framework.Resource("test://static-text", staticText,
			framework.Name("static-text"), framework.Describe("A text that never changes."), framework.MIME("text/plain")),
		framework.Resource("test://static-binary", staticBinary,
			framework.Name("static-binary"), framework.Describe("A picture that never changes."), framework.MIME("image/png")),
		framework.Resource(watchedURI, w.read,
			framework.Name("watched-resource"), framework.Describe("A text that the tool update_watched changes."), framework.MIME("text/plain")),
		framework.ResourceTemplate("test://template/{id}/data", templateData,
			framework.Name("template-data"), framework.Describe("Data by id."), framework.MIME("application/json")),
	}
}

func staticText(context.Context) (string, error) {
	return "This is the content of the static text resource.", nil
}

func staticBinary(context.Context) ([]byte, error) {
	return base64.StdEncoding.DecodeString(pixel)
}

type dataRef struct {
	ID string `uri:"id"`
}

type dataOut struct {
	ID           string `json:"id"`
	TemplateTest bool   `json:"templateTest"`
	Data         string `json:"data"`
}

func templateData(_ context.Context, ref dataRef) (dataOut, error) {
	return dataOut{ID: ref.ID, TemplateTest: true, Data: "Data for ID: " + ref.ID}, nil
}

// watched is a resource that the tool update_watched changes.
type watched struct{ updates atomic.Int64 }

func (w *watched) read(context.Context) (string, error) {
	if n := w.updates.Load(); n > 0 {
		return fmt.Sprintf("Watched resource content (update %d)", n), nil
	}
	return "Watched resource content", nil
}

func (w *watched) update(ctx context.Context, _ none) (string, error) {
	n := w.updates.Add(1)
	framework.ServerFrom(ctx).ResourceUpdated(ctx, watchedURI)
	return fmt.Sprintf("Update %d of %s.", n, watchedURI), nil
}
