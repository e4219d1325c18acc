package framework

import "testing"

func TestTitled(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"call_read_tool": "Call read tool", "getHTTPStatus": "Get HTTP status", "forecast": "Forecast", "HTTPGet": "HTTP get",
		"shop.orders/list-all": "Shop orders list all", "a": "A", "orders2": "Orders2", "größe_ändern": "Größe ändern", "v2Beta": "V2 beta", "": "", "___": "",
		"ID": "ID", "readID": "Read ID", "x y": "X y",
	} {
		if got := titled("", name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if got := titled("Own", "name"); got != "Own" {
		t.Error(got)
	}
}
