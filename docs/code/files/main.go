// Command files is the code of docs/files.md.
package main

import (
	"bytes"
	"context"
	"image"
	"image/draw"
	"image/png"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
)

// Files stores files in memory by name. Handlers run concurrently, so mu guards the files.
type Files struct {
	mu   sync.RWMutex
	data map[string][]byte
}

// SaveIn is the input of the tool save.
type SaveIn struct {
	Name string `json:"name" doc:"name of the file, such as notes.txt" validate:"min=1,max=100,excludesall=/\\"`
	Data []byte `json:"data" doc:"contents of the file" validate:"max=2000000"`
}

// Save stores a file and returns a link to it.
func (f *Files) Save(_ context.Context, in SaveIn) (framework.Link, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.data[in.Name] = in.Data
	return framework.Link{URI: "file:///" + url.PathEscape(in.Name), Name: in.Name, Size: int64(len(in.Data))}, nil
}

// FileRef has the variable of file:///{name}.
type FileRef struct {
	Name string `uri:"name" doc:"name of the file"`
}

// Read returns a file. The MIME type depends on the file, so the handler sets it.
func (f *Files) Read(_ context.Context, ref FileRef) (framework.Contents, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	data, ok := f.data[ref.Name]
	if !ok {
		return framework.Contents{}, framework.NotFoundf("there is no file %q", ref.Name)
	}
	if path.Ext(ref.Name) == ".txt" {
		return framework.Contents{Text: string(data), MIME: "text/plain"}, nil
	}
	return framework.Contents{Data: data, MIME: "application/octet-stream"}, nil
}

// ListOut is the result of the tool list.
type ListOut struct {
	Names []string `json:"names"`
}

// List returns the names of all files.
func (f *Files) List(context.Context, struct{}) (ListOut, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return ListOut{slices.Sorted(maps.Keys(f.data))}, nil
}

// PictureIn is the input of the tool crop.
type PictureIn struct {
	Picture []byte `json:"picture" doc:"a PNG image" validate:"max=2000000"`
}

// maxPixels limits the memory for a picture. A PNG file of 2 MB can have billions of pixels.
const maxPixels = 16 << 20

// Crop returns an image. Clients show it to the user.
func Crop(_ context.Context, in PictureIn) (framework.Image, error) {
	size, err := png.DecodeConfig(bytes.NewReader(in.Picture))
	if err != nil {
		return framework.Image{}, framework.UserErrorf("the picture is not a PNG image")
	}
	if size.Width < 2 || size.Width > maxPixels/size.Height {
		return framework.Image{}, framework.UserErrorf("the picture must be at least 2 pixels wide, and have at most %d pixels", maxPixels)
	}
	whole, err := png.Decode(bytes.NewReader(in.Picture))
	if err != nil {
		return framework.Image{}, framework.UserErrorf("the picture is not a PNG image")
	}
	half := image.NewRGBA(image.Rect(0, 0, whole.Bounds().Dx()/2, whole.Bounds().Dy()))
	draw.Draw(half, half.Bounds(), whole, whole.Bounds().Min, draw.Src)
	var out bytes.Buffer
	if err := png.Encode(&out, half); err != nil {
		return framework.Image{}, err
	}
	return framework.Image{Data: out.Bytes(), MIME: "image/png"}, nil
}

// Bundle returns a short file in its result, so that the client needs no second request.
func (f *Files) Bundle(ctx context.Context, ref BundleIn) (framework.Content, error) {
	contents, err := f.Read(ctx, FileRef(ref))
	if err != nil {
		return nil, err
	}
	contents.URI = "file:///" + url.PathEscape(ref.Name)
	return framework.Content{framework.Text("The file " + ref.Name + ":"), framework.Embedded{Contents: contents}}, nil
}

// BundleIn is the input of the tool bundle.
type BundleIn struct {
	Name string `json:"name" doc:"name of the file"`
}

// NewApp returns the app.
func NewApp() *framework.App {
	files := &Files{data: map[string][]byte{}}
	return framework.New("files", "1.0.0").Add(
		framework.Tool("save", files.Save, framework.Describe("Save a file.")),
		framework.Tool("list", files.List, framework.Describe("List the files."), framework.ReadOnly()),
		framework.Tool("bundle", files.Bundle, framework.Describe("Return a file with the result."), framework.ReadOnly()),
		framework.Tool("crop", Crop, framework.Describe("Return the left half of a picture."), framework.ReadOnly()),
		framework.ResourceTemplate("file:///{name}", files.Read, framework.Describe("A saved file."),
			framework.Complete("name", func(ctx context.Context, prefix string, _ map[string]string) ([]string, error) {
				all, err := files.List(ctx, struct{}{})
				return slices.DeleteFunc(all.Names, func(name string) bool { return !strings.HasPrefix(name, prefix) }), err
			})),
	)
}

func main() { serve.Main(NewApp()) }
