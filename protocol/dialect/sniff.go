package dialect

import (
	"bytes"
	"unicode/utf8"
)

// signatures has the first bytes of formats that servers send. The list in net/http is made for
// browsers.
var signatures = []struct{ prefix, mime string }{
	{"\x89PNG\r\n\x1a\n", "image/png"},
	{"\xff\xd8\xff", "image/jpeg"},
	{"GIF87a", "image/gif"},
	{"GIF89a", "image/gif"},
	{"BM", "image/bmp"},
	{"<svg", "image/svg+xml"},
	{"ID3", "audio/mpeg"},
	{"\xff\xfb", "audio/mpeg"},
	{"\xff\xf3", "audio/mpeg"},
	{"\xff\xf2", "audio/mpeg"},
	{"OggS", "audio/ogg"},
	{"fLaC", "audio/flac"},
	{"%PDF-", "application/pdf"},
	{"PK\x03\x04", "application/zip"},
	{"\x1f\x8b", "application/gzip"},
}

// sniff returns the MIME type of data: a known format, plain text, or application/octet-stream.
func sniff(data []byte) string {
	for _, s := range signatures {
		if bytes.HasPrefix(data, []byte(s.prefix)) {
			return s.mime
		}
	}
	if len(data) >= 12 && string(data[:4]) == "RIFF" {
		switch string(data[8:12]) {
		case "WAVE":
			return "audio/wav"
		case "WEBP":
			return "image/webp"
		}
	}
	if len(data) > 0 && utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 {
		return "text/plain"
	}
	return "application/octet-stream"
}
