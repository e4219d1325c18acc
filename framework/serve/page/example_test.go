package page_test

import (
	"crypto/subtle"
	"log"
	"net/http"

	"github.com/kagami-mcp/kagami/framework/serve/page"
)

// A program can serve the page in its own mux, behind a login of its own.
func ExamplePage_Handler() {
	p, err := page.New(page.Options{URL: "http://127.0.0.1:8080/mcp"})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	mux := http.NewServeMux()
	mux.Handle("/page/", loggedIn(http.StripPrefix("/page", p.Handler())))
}

// loggedIn stands for the login that the program has.
func loggedIn(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, ok := r.BasicAuth(); !ok || subtle.ConstantTimeCompare([]byte(password), []byte("sesame")) != 1 {
			w.Header().Set("WWW-Authenticate", `Basic realm="page"`)
			http.Error(w, "log in first", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
