package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
)

//go:embed assets/*.js assets/*.css assets/*.svg assets/screens assets/vendor/*.js
var embedded embed.FS

// files holds the page's scripts and styles.
type files struct {
	hash string            // hash of all files; addresses contain it, so they change with the files
	gzip map[string][]byte // by name
}

// load returns the files, compressed at the first use.
var load = sync.OnceValue(func() *files {
	f, sum := &files{gzip: map[string][]byte{}}, sha256.New()
	err := fs.WalkDir(embedded, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := embedded.ReadFile(name)
		if err != nil {
			return err
		}
		_, _ = sum.Write(text)
		var small bytes.Buffer
		z, _ := gzip.NewWriterLevel(&small, gzip.BestCompression) // the level is a valid one
		_, _ = z.Write(text)                                      // into memory
		_ = z.Close()
		f.gzip[strings.TrimPrefix(name, "assets/")] = small.Bytes()
		return nil
	})
	if err != nil {
		panic(err) // the files are in the program
	}
	f.hash = hex.EncodeToString(sum.Sum(nil)[:8])
	return f
})

// types maps the extensions of the files to media types. The system's own table may differ.
var types = map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}

func serveFile(w http.ResponseWriter, r *http.Request) {
	f := load()
	name := r.PathValue("name")
	text, ok := f.gzip[name]
	if !ok || r.PathValue("hash") != f.hash {
		fail(w, http.StatusNotFound, "there is no such file")
		return
	}
	w.Header().Set("Content-Type", types[path.Ext(name)])
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	w.Header().Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(text) // a browser that is gone does not matter
		return
	}
	whole, err := embedded.ReadFile("assets/" + name)
	if err == nil {
		_, _ = w.Write(whole)
	}
}

// document is the page without data. The script fills it.
const document = `<!doctype html>
<html lang="en" data-secret="{secret}" data-locked="{locked}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark"><title>Kagami</title><link rel="icon" href="assets/{hash}/mark.svg">
<link rel="stylesheet" href="assets/{hash}/style.css"><script type="module" src="assets/{hash}/index.js"></script></head>
<body><noscript>This page needs JavaScript.</noscript></body></html>
`

// locked returns what a user without the secrets has to do.
func locked(own bool) string {
	if own {
		return "Open the address that the program printed: it holds a key that is good once. The palette of an open page makes a key for another browser."
	}
	return "Please load this page again: its program has started again, or your login has ended."
}

// index serves the document. A request with a valid key gets the cookie and the second secret. The
// response is not a redirect, because a strict cookie would not be sent after a click on another
// site.
func (p *Page) index(own bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		secret, key := "", r.URL.Query().Get("k")
		switch {
		case !own:
			secret = p.guard.secret
		case key == "", r.Method == http.MethodHead: // the key is for the request that gets the document
		case p.guard.use(key):
			secret = p.guard.secret
			http.SetCookie(w, &http.Cookie{
				Name: cookieName(r), Value: p.guard.cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
			})
		default:
			w.WriteHeader(http.StatusForbidden) // the script still works in a browser that already has a secret
		}
		text := strings.NewReplacer("{hash}", load().hash, "{secret}", html.EscapeString(secret), "{locked}", locked(own)).Replace(document)
		_, _ = w.Write([]byte(text)) // a browser that is gone does not matter
	}
}
