package uritemplate_test

import (
	"testing"

	"github.com/kagami-mcp/kagami/framework/internal/uritemplate"
)

func BenchmarkMatchKinds(b *testing.B) {
	for name, tt := range map[string]struct{ template, uri string }{
		"simple":    {"orders://{user}/{year}", "orders://ann/2026"},
		"query":     {"orders://{user}{?page}", "orders://ann?page=2"},
		"reserved":  {"file:///{+path}", "file:///srv/www/index.html"},
		"elsewhere": {"orders://{user}/{year}", "invoices://ann/2026"},
		"ends else": {"orders://{user}/items", "orders://ann/2026"},
	} {
		t, err := uritemplate.Parse(tt.template)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := t.Match(tt.uri); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
