package browser_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve/inspect"
	"github.com/kagami-mcp/kagami/framework/serve/page"
	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

type address struct {
	Street string `json:"street" doc:"street and number"`
	City   string `json:"city"`
}

type line struct {
	Item  string `json:"item"`
	Count int    `json:"count" validate:"min=1"`
}

type parcel struct {
	To     address           `json:"to"`
	Lines  []line            `json:"lines"`
	Speed  string            `json:"speed,omitempty" validate:"omitempty,oneof=slow normal fast" default:"normal"`
	Labels map[string]string `json:"labels,omitempty"`
	Letter []byte            `json:"letter,omitempty" doc:"a letter to put in"`
	Gift   bool              `json:"gift,omitempty"`
	Weight int64             `json:"weight,omitempty" doc:"in milligrams"`
	Return *address          `json:"return,omitempty"`
}

type sure struct {
	Sure bool `json:"sure"`
}

type orderIn struct {
	Item string `json:"item"`
}

type unlockIn struct {
	Door     string `json:"door"`
	Password string `json:"password" secret:"true"`
}

type none struct{}

// slowly returns a step that takes time.
func slowly(name string, d time.Duration) framework.Middleware {
	return framework.Middleware{Name: name, Wrap: func(next framework.Handler) framework.Handler {
		return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
			time.Sleep(d)
			return next(ctx, call)
		}
	}}
}

// hostile is text that does harm where it is taken for markup.
const hostile = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>` + "\u202e[x](javascript:alert(1))"

// specimen is a server with one tool for each thing that the page shows.
func specimen(t *testing.T) page.Options {
	t.Helper()
	app := framework.New("specimen", "1.0", framework.WithTitle("Specimen"), framework.WithInstructions("One tool for each thing that a page shows.")).Add(
		framework.Tool("send_parcel", func(_ context.Context, in parcel) (parcel, error) { return in, nil },
			framework.Describe("Sends a parcel, and returns what it has understood."), framework.Destructive(false)),
		framework.Tool("order", order, framework.Describe("Orders an item. The user is asked first."), framework.Destructive(false)),
		framework.Tool("haiku", func(ctx context.Context, _ none) (string, error) {
			said, err := framework.Generate(ctx, "Write a haiku about mirrors.", framework.System("You are a poet."))
			return said.Text(), err
		}, framework.Describe("Lets the client's model write."), framework.ReadOnly()),
		framework.Tool("slow", slow, framework.Describe("Counts to a hundred, slowly."), framework.ReadOnly()),
		framework.Tool("picture", func(context.Context, none) (framework.Content, error) {
			return framework.Content{
				protocol.Text{Text: "A square."},
				protocol.Image{Data: square(), MIME: "image/png"},
				protocol.Link{URI: "specimen://note", Name: "note", MIME: "text/plain"},
			}, nil
		}, framework.Describe("Returns a text, a picture and a link."), framework.ReadOnly()),
		framework.Tool("hostile", func(context.Context, none) (string, error) { return hostile, nil }, framework.Describe("Says "+hostile), framework.ReadOnly()),
		framework.Tool("big", func(context.Context, none) (string, error) { return strings.Repeat("mirror ", 150_000), nil }, framework.Describe("Returns a megabyte."), framework.ReadOnly()),
		framework.Tool("unlock", func(_ context.Context, in unlockIn) (string, error) { return "door " + in.Door, nil }, framework.Describe("Unlocks a door."), framework.ReadOnly()),
		framework.Tool("destroy", func(context.Context, none) (string, error) { return "gone", nil }, framework.Describe("Destroys something."), framework.Destructive(true)),
		framework.Tool("charge", charge, framework.Describe("Charges a card once, asks, and sends a receipt once."), framework.Destructive(false), framework.With(slowly("limits", time.Millisecond), slowly("tenant", 5*time.Millisecond))),
		framework.Tool("book", book, framework.Describe("Asks two questions at once."), framework.Destructive(false)),
		framework.Tool("errand", func(context.Context, none) (string, error) { return "done", nil }, framework.Describe("Can be a task."), framework.ReadOnly(), framework.Task(framework.TaskOptional)),
		framework.Tool("dotted.name", func(context.Context, none) (string, error) { return "", nil }, framework.Describe("Has a name that some APIs refuse."), framework.ReadOnly()),
		framework.Resource("specimen://note", func(context.Context) (string, error) { return "A note.", nil }, framework.Name("note"), framework.Describe("A note.")),
	)
	server, err := app.Build()
	if err != nil {
		t.Fatal(err)
	}
	return page.Options{Host: server, Where: "./specimen", Inside: func() *surface.Inside { return inspect.Inside(server) }}
}

// elsewhere is the specimen over HTTP, where everybody is the same principal, and has started a task before.
func elsewhere(t *testing.T) page.Options {
	t.Helper()
	inner := nethttp.Handler(specimen(t).Host)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inner.ServeHTTP(w, r.WithContext(transport.WithPrincipal(r.Context(), &transport.Principal{Subject: "ann"})))
	}))
	t.Cleanup(site.Close)
	c, err := client.Connect(t.Context(), client.HTTP(site.URL), client.Revisions(protocol.Rev20251125))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	task, err := c.CallTask(t.Context(), "errand", nil)
	if err == nil {
		_, err = task.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return page.Options{URL: site.URL}
}

func order(ctx context.Context, in orderIn) (string, error) {
	said, err := framework.Elicit[sure](ctx, "Order "+in.Item+" for €58.00?")
	if err != nil {
		return "", err
	}
	if !said.Sure {
		return "Nothing was ordered.", nil
	}
	return "Ordered " + in.Item + ".", nil
}

// charge has an effect before its question, which must not happen again when the question is answered.
func charge(ctx context.Context, _ none) (string, error) {
	paid, err := framework.Once(ctx, "card", func(context.Context) (int, error) { return 58, nil })
	if err != nil {
		return "", err
	}
	said, err := framework.Elicit[sure](ctx, "Send a receipt?")
	if err != nil || !said.Sure {
		return "No receipt.", err
	}
	_, err = framework.Once(ctx, "receipt", func(context.Context) (none, error) { return none{}, nil })
	return fmt.Sprintf("Paid %d, and sent a receipt.", paid), err
}

func book(ctx context.Context, _ none) (string, error) {
	when, where, err := framework.Gather2(ctx, framework.Ask[struct {
		Day string `json:"day"`
	}]("Which day?"), framework.Ask[struct {
		Table int `json:"table"`
	}]("Which table?"))
	return fmt.Sprintf("Table %d on %s.", where.Table, when.Day), err
}

func slow(ctx context.Context, _ none) (string, error) {
	for i := range 100 {
		framework.Progress(ctx, i, 100, fmt.Sprintf("at %d", i))
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(300 * time.Millisecond):
		}
	}
	return "counted to a hundred", nil
}

func square() []byte {
	m := image.NewRGBA(image.Rect(0, 0, 120, 120))
	for i := range 120 * 120 {
		m.Set(i%120, i/120, color.RGBA{R: 31, G: uint8(78 + i/240), B: 134, A: 255})
	}
	var out bytes.Buffer
	_ = png.Encode(&out, m) // into memory
	return out.Bytes()
}
