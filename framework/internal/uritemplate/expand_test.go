package uritemplate_test

import (
	"testing"
)

// rfc are the string values of RFC 6570 §3.2; undef and the lists are left out.
var rfc = map[string]string{
	"dub": "me/too", "hello": "Hello World!", "half": "50%", "var": "value",
	"who": "fred", "base": "http://example.com/home/", "path": "/foo/bar",
	"v": "6", "x": "1024", "y": "768", "empty": "",
}

// expansions are the examples of RFC 6570 §1.2 and §3.2 whose values are strings.
var expansions = []struct{ template, want string }{
	// §1.2, levels 1 to 3
	{"{var}", "value"},
	{"{hello}", "Hello%20World%21"},
	{"{+var}", "value"},
	{"{+hello}", "Hello%20World!"},
	{"{+path}/here", "/foo/bar/here"},
	{"here?ref={+path}", "here?ref=/foo/bar"},
	{"X{#var}", "X#value"},
	{"X{#hello}", "X#Hello%20World!"},
	{"map?{x,y}", "map?1024,768"},
	{"{x,hello,y}", "1024,Hello%20World%21,768"},
	{"{+x,hello,y}", "1024,Hello%20World!,768"},
	{"{+path,x}/here", "/foo/bar,1024/here"},
	{"{#x,hello,y}", "#1024,Hello%20World!,768"},
	{"{#path,x}/here", "#/foo/bar,1024/here"},
	{"X{.var}", "X.value"},
	{"X{.x,y}", "X.1024.768"},
	{"{/var}", "/value"},
	{"{/var,x}/here", "/value/1024/here"},
	{"{;x,y}", ";x=1024;y=768"},
	{"{;x,y,empty}", ";x=1024;y=768;empty"},
	{"{?x,y}", "?x=1024&y=768"},
	{"{?x,y,empty}", "?x=1024&y=768&empty="},
	{"?fixed=yes{&x}", "?fixed=yes&x=1024"},
	{"{&x,y,empty}", "&x=1024&y=768&empty="},
	// §1.2, level 4
	{"{var:3}", "val"},
	{"{var:30}", "value"},
	{"{+path:6}/here", "/foo/b/here"},
	{"{#path:6}/here", "#/foo/b/here"},
	{"X{.var:3}", "X.val"},
	{"{/var:1,var}", "/v/value"},
	{"{;hello:5}", ";hello=Hello"},
	{"{?var:3}", "?var=val"},
	{"{&var:3}", "&var=val"},
	// §3.2.2
	{"{half}", "50%25"},
	{"O{empty}X", "OX"},
	{"O{undef}X", "OX"},
	{"{x,y}", "1024,768"},
	{"?{x,empty}", "?1024,"},
	{"?{x,undef}", "?1024"},
	{"?{undef,y}", "?768"},
	// §3.2.3
	{"{+half}", "50%25"},
	{"{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"},
	{"{+base}index", "http://example.com/home/index"},
	{"O{+empty}X", "OX"},
	{"O{+undef}X", "OX"},
	{"up{+path}{var}/here", "up/foo/barvalue/here"},
	// §3.2.4
	{"{#half}", "#50%25"},
	{"foo{#empty}", "foo#"},
	{"foo{#undef}", "foo"},
	// §3.2.5
	{"{.who}", ".fred"},
	{"{.who,who}", ".fred.fred"},
	{"{.half,who}", ".50%25.fred"},
	{"X{.empty}", "X."},
	{"X{.undef}", "X"},
	// §3.2.6
	{"{/who}", "/fred"},
	{"{/who,who}", "/fred/fred"},
	{"{/half,who}", "/50%25/fred"},
	{"{/who,dub}", "/fred/me%2Ftoo"},
	{"{/var,empty}", "/value/"},
	{"{/var,undef}", "/value"},
	// §3.2.7
	{"{;who}", ";who=fred"},
	{"{;half}", ";half=50%25"},
	{"{;empty}", ";empty"},
	{"{;v,empty,who}", ";v=6;empty;who=fred"},
	{"{;v,bar,who}", ";v=6;who=fred"},
	{"{;x,y,undef}", ";x=1024;y=768"},
	// §3.2.8
	{"{?who}", "?who=fred"},
	{"{?half}", "?half=50%25"},
	{"{?x,y,undef}", "?x=1024&y=768"},
	// §3.2.9
	{"{&who}", "&who=fred"},
	{"{&half}", "&half=50%25"},
	{"{&x,y,undef}", "&x=1024&y=768"},
	// ours: the value of {/x*} is a path; other exploded strings stay whole
	{"{/dub*}", "/me/too"},
	{"{dub*}", "me%2Ftoo"},
	{"{?dub*}", "?dub=me%2Ftoo"},
	// literals are encoded (§3.1), escapes in them and in {+x} pass
	{"é{var}%2f'", "%C3%A9value%2f'"},
}

func TestExpand(t *testing.T) {
	t.Parallel()
	for _, tt := range expansions {
		got, err := mustParse(t, tt.template).Expand(rfc)
		if err != nil || got != tt.want {
			t.Errorf("%s: got %q, %v, want %q", tt.template, got, err, tt.want)
		}
	}
}

func TestExpandValues(t *testing.T) {
	t.Parallel()
	tests := []struct{ template, value, want string }{
		{"{x:2}", "日本語", "%E6%97%A5%E6%9C%AC"}, // characters, not bytes
		{"{+x}", "a%20b%", "a%20b%25"},
		{"{x}", "a%20b", "a%2520b"},
		{"{x}", "-._~", "-._~"},
		{"{+x}", ":/?#[]@!$&'()*+,;=", ":/?#[]@!$&'()*+,;="},
	}
	for _, tt := range tests {
		got, err := mustParse(t, tt.template).Expand(map[string]string{"x": tt.value})
		if err != nil || got != tt.want {
			t.Errorf("%s with %q: got %q, %v, want %q", tt.template, tt.value, got, err, tt.want)
		}
	}
}

func TestExpandRefusesInvalidUTF8(t *testing.T) {
	t.Parallel()
	_, err := mustParse(t, "a://{x}").Expand(map[string]string{"x": "\xff"})
	want := `expanding URI template "a://{x}": the value of x is not valid UTF-8`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
