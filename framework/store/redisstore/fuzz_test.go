package redisstore_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/redisstore"
)

// FuzzBox: a value opens where it was sealed, and nothing else does.
func FuzzBox(f *testing.F) {
	f.Add([]byte("value"), []byte("\x01kept"), "a", "b")
	f.Add([]byte{}, []byte{}, "", "")
	f.Add([]byte{0}, []byte{0}, "ab", "")
	var boxes []redisstore.Box
	for _, keys := range [][][]byte{nil, {oldKey}, {newKey, oldKey}} {
		b, err := redisstore.NewBox(keys...)
		if err != nil {
			f.Fatal(err)
		}
		boxes = append(boxes, b)
	}
	f.Fuzz(func(t *testing.T, value, kept []byte, id, owner string) {
		for i, b := range boxes {
			for _, sealed := range append(b.Same(value, "k", id, owner), b.Seal(value, "k", id, owner)) {
				got, err := b.Open(string(sealed), "k", id, owner)
				if err != nil || !bytes.Equal(got, value) {
					t.Fatalf("%q came back as %q, %v", value, got, err)
				}
				if got, err := b.Open(string(sealed), "k", id+owner, ""); i > 0 && owner != "" && !errors.Is(err, redisstore.ErrKey) {
					t.Fatalf("it opened elsewhere: %q, %v", got, err)
				}
			}
			got, err := b.Open(string(kept), "k", id, owner)
			if ok := i == 0 && len(kept) > 0 && kept[0] == 0; ok != (err == nil) || err != nil && !errors.Is(err, redisstore.ErrKey) {
				t.Fatalf("%q opened as %q, %v", kept, got, err)
			}
		}
	})
}

// FuzzStamp: whatever is read is a moment that comes back as it was.
func FuzzStamp(f *testing.F) {
	for _, at := range []time.Time{{}, time.Unix(0, 0), time.Unix(-1, 999999999), time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC)} {
		f.Add(redisstore.Stamp(at))
	}
	f.Add("1 ")
	f.Add(" 1")
	f.Add("1 -1")
	f.Fuzz(func(t *testing.T, s string) {
		at, err := redisstore.ParseStamp(s)
		if err != nil {
			return
		}
		if again, err := redisstore.ParseStamp(redisstore.Stamp(at)); err != nil || !again.Equal(at) {
			t.Fatalf("%q is %v, and then %v, %v", s, at, again, err)
		}
	})
}
