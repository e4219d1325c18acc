package dialect_test

import (
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
)

func TestMIMETypesAreSniffed(t *testing.T) {
	t.Parallel()
	for want, data := range map[string]string{
		"image/png":                "\x89PNG\r\n\x1a\n....",
		"image/jpeg":               "\xff\xd8\xff\xe0",
		"image/gif":                "GIF89a",
		"image/webp":               "RIFF....WEBP",
		"audio/wav":                "RIFF....WAVE",
		"audio/mpeg":               "ID3",
		"audio/ogg":                "OggS",
		"audio/flac":               "fLaC",
		"application/pdf":          "%PDF-1.7",
		"text/plain":               "hello",
		"application/octet-stream": "\x00\x01",
	} {
		got, err := dialect.Of(revE).AppendResult(nil, &protocol.ReadResourceResult{
			Contents: []protocol.Contents{{URI: "a:b", Data: []byte(data)}},
		}, nil)
		if err != nil || !strings.Contains(string(got), `"mimeType":"`+want+`"`) {
			t.Errorf("%q: %s, %v, want %s", data, got, err, want)
		}
	}
}

// TestBlobs checks that an empty blob stays a blob, and that base64 uses the standard alphabet with
// padding.
func TestBlobs(t *testing.T) {
	t.Parallel()
	for _, d := range dialect.All() {
		got, err := d.AppendResult(nil, &protocol.ReadResourceResult{
			Contents: []protocol.Contents{{URI: "a:b", Data: []byte{}, MIME: "x/y"}, {URI: "a:b", Data: []byte{0xfb, 0xff, 0xbe, 0}, MIME: "x/y"}},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(got), `"blob":""`) || !strings.Contains(string(got), `"blob":"+/++AA=="`) {
			t.Errorf("%s: %s", d, got)
		}
	}
}

func TestLinksAndTextsOfSampling(t *testing.T) {
	t.Parallel()
	for _, d := range dialect.All()[:4] {
		got, err := d.AppendParams(nil, &protocol.CreateMessageParams{
			Messages: []protocol.Message{
				{Role: protocol.RoleUser, Content: protocol.Link{URI: "file:///a", Name: "a"}},
				{Role: protocol.RoleUser, Content: protocol.Embedded{Contents: protocol.Contents{URI: "file:///a", Text: "A"}}},
			},
			MaxTokens: 1,
		}, nil)
		want := `{"messages":[{"role":"user","content":{"type":"text","text":"a: file:///a"}},` +
			`{"role":"user","content":{"type":"text","text":"A"}}],"maxTokens":1}`
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", d, got, err)
		}
	}
}

// TestPointerToABlock checks the error for a pointer to a block, which compiles as a Block. The
// error describes what to write instead.
func TestPointerToABlock(t *testing.T) {
	t.Parallel()
	for _, d := range dialect.All() {
		_, err := d.AppendBlock(nil, &protocol.Text{Text: "x"})
		if err == nil || !strings.Contains(err.Error(), "not a pointer") {
			t.Errorf("%s: %v", d, err)
		}
	}
}
