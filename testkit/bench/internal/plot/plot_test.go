package plot_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/testkit/bench/internal/plot"
)

// texts parses a picture, and returns the words in it.
func texts(t *testing.T, picture []byte) string {
	t.Helper()
	var all strings.Builder
	decoder := xml.NewDecoder(bytes.NewReader(picture))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return all.String()
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, picture)
		}
		if words, ok := token.(xml.CharData); ok {
			all.Write(words)
		}
	}
}

func TestBars(t *testing.T) {
	t.Parallel()
	picture := plot.Bars("Cost <of> a call", []plot.Group{
		{Title: "small", Bars: []plot.Bar{{Name: "a & b", Value: 10, Label: "10 µs"}, {Name: "c", Value: 5, Label: "5 µs"}}},
		{Title: "nothing", Bars: []plot.Bar{{Name: "c", Value: 0, Label: "0"}, {Name: "less", Value: -3, Label: "−3"}}},
	})
	found := texts(t, picture)
	for _, want := range []string{"Cost <of> a call", "small", "a & b", "10 µs", "5 µs", "nothing"} {
		if !strings.Contains(found, want) {
			t.Errorf("%q is missing in %s", want, found)
		}
	}
	if !bytes.Contains(picture, []byte(`width="540.0"`)) || !bytes.Contains(picture, []byte(`width="270.0"`)) || bytes.Contains(picture, []byte(`"-`)) {
		t.Errorf("bars are not as long as they should be:\n%s", picture)
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	picture := plot.Lines("Growth", "sessions", []plot.Line{
		{Name: "call", X: []float64{100, 1000, 10_000}, Y: []float64{5, 5.5, 6}},
		{Name: "scan", X: []float64{100, 1000, 10_000}, Y: []float64{5, 0, 500}},
		{Name: "nothing"},
	})
	found := texts(t, picture)
	for _, want := range []string{"Growth", "sessions", "call", "scan", "10,000"} {
		if !strings.Contains(found, want) {
			t.Errorf("%q is missing in %s", want, found)
		}
	}
	if bytes.Contains(picture, []byte("NaN")) || bytes.Contains(picture, []byte("Inf")) {
		t.Errorf("%s", picture)
	}
	texts(t, plot.Lines("none", "n", nil))
}
