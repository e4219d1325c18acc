package main

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/testkit"
)

func TestFiles(t *testing.T) {
	testkit.BothEras(t, NewApp, func(t *testing.T, s *testkit.Session) {
		s.CallRaw("save", `{"name":"notes.txt","data":"`+base64.StdEncoding.EncodeToString([]byte("Buy tea."))+`"}`).OK().Mentions("file:///notes.txt")
		s.CallRaw("save", `{"name":"../notes.txt","data":""}`).IsError().Mentions("/name")
		s.CallRaw("save", `{"name":"blob","data":"/wA="}`).OK()
		link := s.CallRaw("save", `{"name":"50% off?#1.txt","data":"dGVh"}`).OK().Blocks()[0].(protocol.Link)
		s.Read(link.URI).OK().Mentions("tea")
		s.CallRaw("list", `{}`).OK().Mentions("notes.txt")
		s.CallRaw("bundle", `{"name":"notes.txt"}`).OK().Mentions("Buy tea.")
		s.Read("file:///notes.txt").OK().Mentions("Buy tea.")
		if got := s.Read("file:///blob").OK().Contents(); string(got[0].Data) != "\xff\x00" {
			t.Errorf("the file is %q", got[0].Data)
		}
		if got := s.Complete("file:///{name}", "name", "no", nil); len(got) != 1 || got[0] != "notes.txt" {
			t.Errorf("completions: %v", got)
		}
	})
}

func TestCrop(t *testing.T) {
	s := testkit.New(t, NewApp())
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewRGBA(image.Rect(0, 0, 4, 2))); err != nil {
		t.Fatal(err)
	}
	blocks := s.CallRaw("crop", `{"picture":"`+base64.StdEncoding.EncodeToString(picture.Bytes())+`"}`).OK().Blocks()
	shown, ok := blocks[0].(protocol.Image)
	if !ok || shown.MIME != "image/png" {
		t.Fatalf("%+v", blocks)
	}
	half, err := png.Decode(bytes.NewReader(shown.Data))
	if err != nil || half.Bounds().Dx() != 2 {
		t.Errorf("%v, %v", half, err)
	}
	s.CallRaw("crop", `{"picture":"AAAA"}`).IsError().Mentions("not a PNG image")
	for _, size := range []image.Rectangle{image.Rect(0, 0, 1, 2), image.Rect(0, 0, 5000, 5000)} {
		picture.Reset()
		if err := png.Encode(&picture, image.NewGray(size)); err != nil {
			t.Fatal(err)
		}
		s.CallRaw("crop", `{"picture":"`+base64.StdEncoding.EncodeToString(picture.Bytes())+`"}`).IsError().Mentions("at most 16777216 pixels")
	}
}
