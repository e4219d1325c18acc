package framework

import "testing"

func TestTitled(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"call_read_tool": "Call read tool", "getHTTPStatus": "Get HTTP status", "forecast": "Forecast", "HTTPGet": "HTTP get",
		"shop.orders/list-all": "Shop orders list all", "a": "A", "orders2": "Orders2", "größe_ändern": "Größe ändern", "v2Beta": "V2 beta", "": "", "___": "___", "-": "-",
		"ID": "ID", "readID": "Read ID", "x y": "X y",
		"listGPUsV2": "List GPUs V2", "userIDs": "User IDs", "getURLsOfShop": "Get URLs of shop", "list_IDs": "List IDs", "HTTPServer": "HTTP server",
		"नमस्ते": "नमस्ते", "e\u0301te\u0301_menu": "E\u0301te\u0301 menu", "Bob's menu (draft)": "Bob's menu (draft)", "C++ guide": "C++ guide", "ask?": "Ask?",
	} {
		if got := titled("", name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if got := titled("Own", "name"); got != "Own" {
		t.Error(got)
	}
}

func TestResourceTitle(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"menu": "Menu", "été": "Été", "%C3%A9t%C3%A9-2": "Été 2", "README.md": "README.md", "a%20b": "A b", "100%": "100%", "%FF": "%FF", "a%0Ab": "A%0Ab",
		"example.com": "example.com", "---": "---",
	} {
		if got := resourceTitle("", name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if got := resourceTitle("Own", "a.b"); got != "Own" {
		t.Error(got)
	}
}
