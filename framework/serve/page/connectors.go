package page

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/kagami-mcp/kagami/framework/serve/clients"
)

// connector says how one client program gets the server.
type connector struct {
	Client string `json:"client"`
	Where  string `json:"where"` // the file, or another place
	Text   string `json:"text"`
	Link   string `json:"link,omitempty"` // has the program install the server
}

// getConnectors answers with the ways to connect client programs to the server.
func (p *Page) getConnectors(w http.ResponseWriter, _ *http.Request) error {
	return write(w, connectors(p.about()))
}

// notInName matches what client programs do not accept in the name of a server.
var notInName = regexp.MustCompile(`[^A-Za-z0-9_-]`)

func connectors(a *about) []connector {
	s := &clients.Server{Name: "server", Command: "/absolute/path/of/the/program"}
	if a.Name != "" {
		s.Name = notInName.ReplaceAllString(a.Name, "-")
	}
	shell := quoted(a.Where)
	switch {
	case a.Carrier == "HTTP":
		s.Command, s.URL = "", a.Where
	case len(a.Start) > 0:
		s.Command, s.Args = a.Start[0], a.Start[1:]
		shell = "-- " + words(a.Start)
	}
	var all []connector
	for _, c := range clients.All() {
		one := connect(&c, s, a.OS)
		if s.URL == "" && len(a.Start) == 0 || strings.Contains(s.URL, "xxxxx") { // the program, or a key in the URL, is not known
			one.Link = ""
		}
		all = append(all, one)
	}
	return append(all, connector{Client: "A shell", Where: "this program", Text: "kagami inspect " + shell})
}

// connect returns the connector for one program. Claude Code has a command for it. Claude Desktop does not
// read URLs from its file. Anthropic's servers call the URLs in its settings, so they must be public.
func connect(c *clients.Program, s *clients.Server, system string) connector {
	home := strings.NewReplacer("$HOME", "~", "$CONFIG", "~/.config", "$APPDATA", "%APPDATA%")
	one := connector{Client: c.Title, Where: home.Replace(c.Path(system)), Text: c.Text(s), Link: c.Link(s)}
	if strings.HasPrefix(one.Where, "%") {
		one.Where = strings.ReplaceAll(one.Where, "/", `\`)
	}
	switch {
	case c.Name == "claude-code" && s.URL != "":
		one.Where, one.Text = "a shell", "claude mcp add --transport http "+s.Name+" "+quoted(s.URL)
	case c.Name == "claude-code":
		one.Where, one.Text = "a shell", "claude mcp add "+s.Name+" -- "+words(append([]string{s.Command}, s.Args...))
	case s.URL != "" && !c.Remote:
		one.Where, one.Text = "Settings, Connectors, Add custom connector (needs a public URL)", s.URL
	}
	return one
}

// words returns a command line for a shell.
func words(command []string) string {
	quotes := make([]string, len(command))
	for i, word := range command {
		quotes[i] = quoted(word)
	}
	return strings.Join(quotes, " ")
}
