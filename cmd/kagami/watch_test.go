package main

import "testing"

// TestIsSource checks that only files that the go command reads count. A server may write others
// beside its source, and each of them would start a build.
func TestIsSource(t *testing.T) {
	t.Parallel()
	w := &watcher{exact: map[string]bool{"/m/p/.version": true}, embedded: []embedding{{"/m/p", "template"}, {"/m/p", "*.sql"}}}
	for file, want := range map[string]bool{
		"/m/p/main.go": true, "/m/go.mod": true, "/m/p/lib.c": true,
		"/m/p/main_test.go": false, "/m/p/.main.go": false, "/m/p/main.go~": false, "/m/p/#main.go#": false,
		"/m/p/server.log": false, "/m/p/notes.db": false, "/m/p/notes.db-wal": false,
		"/m/p/.version": true, "/m/p/.other": false,
		"/m/p/template/a/b.txt": true, "/m/p/schema.sql": true, "/m/q/schema.sql": false, "/m/p/template.bak": false,
	} {
		if got := w.isSource(file); got != want {
			t.Errorf("%s: got %v, want %v", file, got, want)
		}
	}
}
