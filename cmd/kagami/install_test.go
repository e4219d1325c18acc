package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework/serve/clients"
)

// TestClientFiles checks where each client has its file on each system.
func TestClientFiles(t *testing.T) {
	t.Parallel()
	for system, want := range map[string]map[string]string{
		"linux": {
			"claude-desktop": "C/Claude/claude_desktop_config.json", "claude-code": "H/.claude.json", "cursor": "H/.cursor/mcp.json",
			"vscode": "C/Code/User/mcp.json", "codex": "H/.codex/config.toml", "gemini": "H/.gemini/settings.json",
			"zed": "C/zed/settings.json", "windsurf": "H/.codeium/windsurf/mcp_config.json",
		},
		"darwin": {
			"claude-desktop": "H/Library/Application Support/Claude/claude_desktop_config.json", "claude-code": "H/.claude.json",
			"vscode": "H/Library/Application Support/Code/User/mcp.json", "zed": "H/.config/zed/settings.json",
		},
		"windows": {
			"claude-desktop": "A/Claude/claude_desktop_config.json", "vscode": "A/Code/User/mcp.json", "zed": "A/Zed/settings.json",
			"cursor": "H/.cursor/mcp.json",
		},
	} {
		dirs := directories{home: "H", config: "C", appData: "A", os: system}
		for name, path := range want {
			c, err := clientNamed(name)
			if err != nil {
				t.Fatal(err)
			}
			if got := filepath.ToSlash(dirs.file(c)); got != path {
				t.Errorf("%s on %s: %s, want %s", name, system, got, path)
			}
		}
	}
}

// TestInstall installs a server in the file of each client, installs it again with another
// environment, and uninstalls it. All other content of the file, also comments, must stay the same.
func TestInstall(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} { // by default they are in the home directory, which the test replaces
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv(name, strings.TrimSpace(string(value)))
	}
	for name, value := range map[string]string{"HOME": home, "USERPROFILE": home, "XDG_CONFIG_HOME": filepath.Join(home, "cfg"), "APPDATA": filepath.Join(home, "app"), "CODEX_HOME": "", "CLAUDE_CONFIG_DIR": ""} {
		t.Setenv(name, value)
	}
	dirs, err := userDirectories()
	if err != nil {
		t.Fatal(err)
	}
	hello, err := filepath.Abs("../../examples/hello")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range clients.All() {
		before := "{\n    // my servers\n    \"other\": [1, 2],\n    \"" + c.Member + "\": {\n        \"old\": { \"command\": \"/no/such\" }, // keep\n        // last words\n    },\n}\n"
		if c.Member == "" {
			before = "model = \"x\" # mine\n\n[mcp_servers.old]\ncommand = \"/no/such\"\n"
		}
		path := dirs.file(&c)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(before), 0o640); err != nil {
			t.Fatal(err)
		}
		read := func() string {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		install := []string{"install", "--client", c.Name, "--name", "notes", "--cmd", everything + " --stdio"}
		if _, errs, code := kagami(t, install...); code != 2 || !strings.Contains(errs, "give --yes") || read() != before {
			t.Errorf("%s, without --yes: exit code %d\n%s", c.Name, code, errs)
		}
		out, errs, code := kagami(t, append(install, "--yes")...)
		if code != 0 || !strings.Contains(out, c.Name+" now has the server notes.") || !strings.Contains(errs, "+ ") {
			t.Errorf("%s: exit code %d\n%s%s", c.Name, code, out, errs)
		}
		if text := read(); !strings.Contains(text, everything) || c.Member != "" && (!strings.Contains(text, "// last words") || !strings.Contains(text, "// keep")) {
			t.Errorf("%s:\n%s", c.Name, text)
		}
		if out, errs, code := kagami(t, install...); code != 0 || !strings.Contains(out, c.Name+" already has the server notes.") {
			t.Errorf("%s, the same: exit code %d\n%s%s", c.Name, code, out, errs)
		}
		if _, errs, code := kagami(t, append(install, "--yes", "--env", "K=v")...); code != 0 || strings.Count(read(), `"K"`) != 1 || strings.Count(read(), everything) != 1 {
			t.Errorf("%s, again: exit code %d\n%s%s", c.Name, code, errs, read())
		}
		if _, errs, code := kagami(t, "install", "--client", c.Name, "--name", "old", "--yes", "--", everything); code != 1 || !strings.Contains(errs, "kagami did not write") {
			t.Errorf("%s, over another: exit code %d\n%s", c.Name, code, errs)
		}
		if _, errs, code := kagami(t, "uninstall", "old", "--client", c.Name, "--yes"); code != 1 || !strings.Contains(errs, "kagami did not write") {
			t.Errorf("%s, of another: exit code %d\n%s", c.Name, code, errs)
		}
		if out, errs, code := kagami(t, "uninstall", "notes", "--client", c.Name, "--yes"); code != 0 || read() != before || !strings.Contains(out, c.Name+" no longer has the server notes.") {
			t.Errorf("%s, out again: exit code %d\n%s%s\n%s\nwant\n%s", c.Name, code, out, errs, read(), before)
		}
		if _, _, code := kagami(t, "uninstall", "notes", "--client", c.Name, "--yes"); code != 7 {
			t.Errorf("%s, twice: exit code %d", c.Name, code)
		}
		installLogin(t, &c, read)
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
			t.Errorf("%s: the file is %v, %v", c.Name, info, err)
		}
	}
	discovers(t, dirs)
	out, _, code := kagami(t, "clients")
	if code != 0 || strings.Count(out, "old") != 8 || strings.Count(out, "there is no program /no/such") != 8 {
		t.Errorf("clients: exit code %d\n%s", code, out)
	}
	if out, _, code := kagami(t, "clients", "--json"); code != 0 || !json.Valid([]byte(out)) {
		t.Errorf("clients --json: exit code %d\n%s", code, out)
	}
	installAnew(t, dirs, hello)
	codexFiles(t, dirs)
	cursorFiles(t, dirs)
}

// cursorFiles checks line ends of Windows, the JSON of --json, and files that are not a configuration.
func cursorFiles(t *testing.T, dirs directories) {
	t.Helper()
	cursor, err := clientNamed("cursor")
	if err != nil {
		t.Fatal(err)
	}
	path := dirs.file(cursor)
	const before = "{\r\n\t// mine\r\n\t\"mcpServers\": {\r\n\t\t\"old\": { \"command\": \"x\" }\r\n\t}\r\n}\r\n"
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	text := before
	for _, step := range []struct {
		args    []string
		changed bool
	}{
		{[]string{"install", everything, "--name", "more"}, true},
		{[]string{"install", everything, "--name", "more"}, false},
		{[]string{"uninstall", "more"}, true},
	} {
		out, errs, code := kagami(t, append(step.args, "--client", "cursor", "--yes", "--json")...)
		var got struct {
			Client, Name, File string
			Changed            bool
		}
		if err := json.Unmarshal([]byte(out), &got); code != 0 || err != nil || got.Client != "cursor" || got.Name != "more" || got.File != path || got.Changed != step.changed {
			t.Errorf("%v: exit code %d, %v\n%s%s", step.args, code, err, out, errs)
		}
		now, err := os.ReadFile(path)
		if text = string(now); err != nil || strings.Count(text, "\n") != strings.Count(text, "\r\n") {
			t.Errorf("%v: %v, mixed line ends in %q", step.args, err, text)
		}
	}
	if text != before {
		t.Errorf("install and uninstall leave %q, want %q", text, before)
	}
	for text, want := range map[string]string{"[]": "does not contain a JSON object", `{"mcpServers":[]}`: "mcpServers is not a JSON object"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, errs, code := kagami(t, "install", everything, "--client", "cursor", "--yes"); code != 1 || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d\n%s", text, code, errs)
		}
	}
}

// codexFiles checks forms of TOML that kagami itself does not write.
func codexFiles(t *testing.T, dirs directories) {
	t.Helper()
	codex, err := clientNamed("codex")
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(dirs.file(codex), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const inline = "mcp_servers = { shown = { command = \"EVERYTHING\", args = [\"--stdio\"] } }\n"
	for form, text := range map[string]string{
		"inline":      inline,
		"dotted keys": "mcp_servers.shown.command = \"EVERYTHING\"\nmcp_servers.shown.args = [\"--stdio\"]\n",
		"quoted":      "[ mcp_servers . \"shown\" ] # mine\ncommand = 'EVERYTHING'\nargs = [\n  \"--stdio\", # one\n]\n[mcp_servers.shown.env]\nKAGAMI_LOG_LEVEL = \"error\"\n",
	} {
		write(strings.ReplaceAll(text, "EVERYTHING", everything))
		if out, errs, code := kagami(t, "call", "shown", "test_simple_text"); code != 0 || !strings.Contains(out, "simple text") {
			t.Errorf("%s, by name: exit code %d\n%s%s", form, code, out, errs)
		}
		if _, errs, code := kagami(t, "install", everything, "--client", "codex", "--name", "shown", "--yes"); code != 1 || !strings.Contains(errs, "kagami did not write") {
			t.Errorf("%s, over another: exit code %d\n%s", form, code, errs)
		}
	}
	for text, want := range map[string]string{inline: "add by hand what --print shows", "mcp_servers = [\n": "is invalid TOML"} {
		write(text)
		_, errs, code := kagami(t, "install", everything, "--client", "codex", "--name", "more", "--yes")
		if now, err := os.ReadFile(dirs.file(codex)); code != 1 || !strings.Contains(errs, want) || err != nil || string(now) != text {
			t.Errorf("%q: exit code %d, now %q, %v\n%s", text, code, now, err, errs)
		}
	}
	write("notes = \"\"\"\nmcp_servers = {}\n\"\"\"\n") // no table of servers
	for _, command := range [][]string{{"install", everything, "--name", "more"}, {"uninstall", "more"}} {
		if _, errs, code := kagami(t, append(command, "--client", "codex", "--yes")...); code != 0 {
			t.Errorf("beside a text of several lines, %s: exit code %d\n%s", command[0], code, errs)
		}
	}
	write("[mcp_servers.away]\nurl = \"https://mcp.example.com/mcp\"\nhttp_headers = { X-Team = \"a\" }\n")
	if out, errs, code := kagami(t, "install", "away", "--client", "cursor", "--print"); code != 0 || !strings.Contains(out, `"X-Team": "a"`) {
		t.Errorf("from Codex to Cursor: exit code %d\n%s%s", code, out, errs)
	}
}

// installLogin installs and uninstalls a server that wants a login.
func installLogin(t *testing.T, c *clients.Program, read func() string) {
	t.Helper()
	before := read()
	url := []string{"install", "https://mcp.example.com/mcp", "--client", c.Name, "--name", "shop", "--yes"}
	if !c.Remote {
		if _, errs, code := kagami(t, url...); code != 2 || !strings.Contains(errs, "Connectors") {
			t.Errorf("%s, a URL: exit code %d\n%s", c.Name, code, errs)
		}
		return
	}
	out, errs, code := kagami(t, url...)
	if code != 0 || !strings.Contains(out, "If the server wants a login: ") || !strings.Contains(out, "shop") || strings.Contains(out, "NAME") {
		t.Errorf("%s, a URL: exit code %d\n%s%s", c.Name, code, out, errs)
	}
	out, errs, code = kagami(t, append(url, "--client-id", "by-hand", "--scope", "orders:read")...)
	if told := strings.Contains(read(), "by-hand") && strings.Contains(read(), "orders:read"); told != c.Logins || (code == 0) != c.Logins {
		t.Errorf("%s, a login: exit code %d\n%s%s%s", c.Name, code, out, errs, read())
	}
	if _, errs, code := kagami(t, "uninstall", "shop", "--client", c.Name, "--yes"); code != 0 || read() != before {
		t.Errorf("%s, out again: exit code %d\n%s%s", c.Name, code, errs, read())
	}
	if _, _, code := kagami(t, "install", everything, "--client", c.Name, "--scope", "x", "--yes"); code != 2 {
		t.Errorf("%s, a login of a program: exit code %d", c.Name, code)
	}
}

// TestChangedMeanwhile checks that a change that a client makes after the file was read is not
// lost.
func TestChangedMeanwhile(t *testing.T) {
	t.Parallel()
	dirs := directories{home: t.TempDir(), os: "linux"}
	cursor, err := clientNamed("cursor")
	if err != nil {
		t.Fatal(err)
	}
	file, err := dirs.open(cursor)
	if err != nil {
		t.Fatal(err)
	}
	if err := file.write([]byte("{}")); err != nil {
		t.Fatal(err)
	}
	if err := file.write([]byte(`{"a":1}`)); err == nil || !strings.Contains(err.Error(), "was changed by another program") {
		t.Errorf("over another's text: %v", err)
	}
}

// discovers starts a server by its name in mcp.json, and by its name in a client's configuration.
func discovers(t *testing.T, dirs directories) {
	t.Helper()
	t.Chdir(t.TempDir())
	project := `{"mcpServers":{"mine":{"command":"` + everything + `","args":["--stdio"],"env":{"KAGAMI_LOG_LEVEL":"error"}},"MCP_DOCKER":{"command":"` + everything + `","args":["--stdio"]},"far":{"url":"https://mcp.example.com/mcp"},"old":{"command":"/another"}}}`
	if err := os.WriteFile("mcp.json", []byte(project), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"mine", "MCP_DOCKER"} {
		if out, errs, code := kagami(t, "call", name, "test_simple_text"); code != 0 || !strings.Contains(out, "simple text") {
			t.Errorf("by the name %s: exit code %d\n%s%s", name, code, out, errs)
		}
	}
	if out, errs, code := kagami(t, "install", "mine", "--name", "other", "--client", "cursor", "--print"); code != 0 || !strings.Contains(out, everything) || !strings.Contains(out, `"KAGAMI_LOG_LEVEL": "error"`) {
		t.Errorf("from one file into another: exit code %d\n%s%s", code, out, errs)
	}
	for _, name := range []string{"mine", "far"} { // the entry keeps the name
		if out, errs, code := kagami(t, "install", name, "--client", "cursor", "--print"); code != 0 || !strings.Contains(out, `"`+name+`": {`) {
			t.Errorf("%s under its name: exit code %d\n%s%s", name, code, out, errs)
		}
	}
	other := strings.ReplaceAll(project, "/another", "/no/such")
	if err := os.WriteFile("mcp.json", []byte(strings.Replace(other, `"/no/such"`, `"/no/such","env":{"X":"y"}`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := kagami(t, "tools", "old"); code != 2 || !strings.Contains(errs, "\n  /no/such  (in mcp.json, with its environment)\n  /no/such  (in ") {
		t.Errorf("two with other variables: exit code %d\n%s", code, errs)
	}
	if err := os.WriteFile("mcp.json", []byte(project), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := kagami(t, "tools", "old"); code != 2 || !strings.Contains(errs, "\"old\" names different servers. Give one of them in place of the name:\n  /another  (in mcp.json)\n  /no/such  (in "+dirs.home) {
		t.Errorf("two of one name: exit code %d\n%s", code, errs)
	}
	out, _, code := kagami(t, "discover")
	if code != 0 || !strings.Contains(out, "mcp.json         mine ") || strings.Count(out, " old") != 9 {
		t.Errorf("discover: exit code %d\n%s", code, out)
	}
	cursor, err := clientNamed("cursor")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove("mcp.json"); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := kagami(t, "tools", "olld"); code != 4 || !strings.Contains(errs, "did you mean old?") {
		t.Errorf("a mistake in the name: exit code %d\n%s", code, errs)
	}
	if _, errs, code := kagami(t, "tools", "old"); code != 4 || !strings.Contains(errs, "/no/such") {
		t.Errorf("of %s: exit code %d\n%s", dirs.file(cursor), code, errs)
	}
}

func serversOf(t *testing.T, dirs directories, c *clients.Program) map[string]json.RawMessage {
	t.Helper()
	file, err := dirs.open(c)
	if err != nil {
		t.Fatal(err)
	}
	servers, err := file.servers()
	if err != nil {
		t.Fatal(err)
	}
	return servers
}

// installAnew installs a package and a URL in a client that has no file yet.
func installAnew(t *testing.T, dirs directories, hello string) {
	t.Helper()
	cursor, err := clientNamed("cursor")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(dirs.file(cursor)); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := kagami(t, "install", hello, "--client", "cursor", "--yes"); code != 0 {
		t.Fatalf("a package: exit code %d\n%s", code, errs)
	}
	if _, errs, code := kagami(t, "install", "https://example.com/mcp", "--client", "cursor", "--yes", "--name", "far", "--bearer", "T"); code != 0 {
		t.Fatalf("a URL: exit code %d\n%s", code, errs)
	}
	servers := serversOf(t, dirs, cursor)
	if far := servers["far"]; !sameJSON(far, []byte(`{"url":"https://example.com/mcp","headers":{"Authorization":"Bearer T"}}`)) {
		t.Errorf("far: %s", far)
	}
	runs, problem := judged(servers["hello"])
	if problem != "" || !filepath.IsAbs(runs) {
		t.Errorf("hello runs %q: %s", runs, problem)
	}
	if out, errs, code := kagami(t, "call", runs, "hello", "name=Ada"); code != 0 || out != "Hello, Ada!\n" {
		t.Errorf("the binary: exit code %d\n%s%s", code, out, errs)
	}
	installNamesakes(t, dirs)
}

// installNamesakes installs two packages that have programs of one name.
func installNamesakes(t *testing.T, dirs directories) {
	t.Helper()
	cursor, err := clientNamed("cursor")
	if err != nil {
		t.Fatal(err)
	}
	runs := map[string]string{}
	for _, name := range []string{"one", "two", "one"} {
		pkg := filepath.Join(dirs.config, name, "server")
		source := "package main\n\nfunc main() { print(\"" + name + fmt.Sprint(len(runs)) + "\") }\n"
		if err := errors.Join(os.MkdirAll(pkg, 0o700), os.WriteFile(filepath.Join(pkg, "go.mod"), []byte("module server\n"), 0o600),
			os.WriteFile(filepath.Join(pkg, "main.go"), []byte(source), 0o600)); err != nil {
			t.Fatal(err)
		}
		if _, errs, code := kagami(t, "install", pkg, "--client", "cursor", "--yes", "--name", name); code != 0 {
			t.Fatalf("exit code %d\n%s", code, errs)
		}
		before := runs[name]
		if runs[name], _ = judged(serversOf(t, dirs, cursor)[name]); before != "" && before != runs[name] {
			t.Errorf("installed again: at %s, before at %s", runs[name], before)
		}
	}
	for _, name := range []string{"one", "two"} { // a file of Go is named relative to the directory
		t.Chdir(filepath.Join(dirs.config, name, "server"))
		if _, errs, code := kagami(t, "install", "main.go", "--client", "cursor", "--yes", "--name", name+"-file"); code != 0 {
			t.Fatalf("exit code %d\n%s", code, errs)
		}
		runs[name+"-file"], _ = judged(serversOf(t, dirs, cursor)[name+"-file"])
	}
	for name, want := range map[string]string{"one": "one2", "two": "two1", "one-file": "one2", "two-file": "two1"} {
		if out, err := exec.Command(runs[name]).CombinedOutput(); err != nil || string(out) != want {
			t.Errorf("%s prints %q, %v; want %q", runs[name], out, err, want)
		}
	}
}

func TestInstallUsage(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"install":               "no server",
		"install " + everything: "want --client with one of claude-desktop, ",
		"install " + everything + " --client emacs":                        "--client emacs: want one of",
		"install " + everything + " --client cursor --env K":               "--env: want NAME=VALUE",
		"install " + everything + " --client cursor --name A!":             "--name A!: use lower-case letters",
		"install https://example.com/mcp --client claude-desktop --name x": "under Connectors",
		"install https://example.com/mcp --client cursor --env K=v":        "--env is for servers that the client starts",
		"install --client cursor --print -- go run example.com/x@latest":   "go starts many servers: give this one a name with --name",
		"uninstall --client cursor":                                        "want the NAME of one server",
		"clients x":                                                        "unexpected argument",
	} {
		out, errs, code := kagami(t, strings.Fields(args)...)
		if code != 2 || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d\n%s", args, code, errs)
		}
	}
	out, errs, code := kagami(t, "install", everything, "--client", "gemini", "--print", "--name", "n")
	if want := "{\n  \"mcpServers\": {\n    \"n\": {\n      \"command\": \"" + everything + "\",\n      \"args\": []\n    }\n  }\n}\n"; code != 0 || out != want {
		t.Errorf("--print: exit code %d\n%s%s", code, out, errs)
	}
}

// ownHome gives a test a home directory of its own.
func ownHome(t *testing.T) directories {
	t.Helper()
	home := t.TempDir()
	for name, value := range map[string]string{"HOME": home, "USERPROFILE": home, "XDG_CONFIG_HOME": filepath.Join(home, "cfg"), "APPDATA": filepath.Join(home, "app"), "CODEX_HOME": "", "CLAUDE_CONFIG_DIR": ""} {
		t.Setenv(name, value)
	}
	dirs, err := userDirectories()
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

// TestInstallStaysInPlace checks that an entry that is written again stays where it is.
func TestInstallStaysInPlace(t *testing.T) {
	dirs := ownHome(t)
	for _, c := range clients.All() {
		install := func(name string, more ...string) string {
			t.Helper()
			_, errs, code := kagami(t, append([]string{"install", everything, "--client", c.Name, "--name", name, "--yes"}, more...)...)
			text, err := os.ReadFile(dirs.file(&c))
			if code != 0 || err != nil {
				t.Fatalf("%s: exit code %d, %v\n%s", c.Name, code, err, errs)
			}
			return string(text)
		}
		install("first")
		before := install("second")
		if again := install("first"); again != before {
			t.Errorf("%s, the same again:\n%s\nwant\n%s", c.Name, again, before)
		}
		if text := install("first", "--env", "K=v"); !strings.Contains(text, `"K"`) || strings.Index(text, "first") > strings.Index(text, "second") {
			t.Errorf("%s, with a variable:\n%s", c.Name, text)
		}
	}
}

// TestInstallRewritten checks that an entry stays kagami's own when the client writes its file again, with other
// escapes and another order.
func TestInstallRewritten(t *testing.T) {
	dirs := ownHome(t)
	for _, c := range clients.All() {
		if c.Member == "" {
			continue
		}
		rewrite := func() {
			t.Helper()
			var whole any
			text, err := os.ReadFile(dirs.file(&c))
			if err != nil || json.Unmarshal(text, &whole) != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			var out bytes.Buffer
			encoder := json.NewEncoder(&out)
			encoder.SetEscapeHTML(false)
			if err := errors.Join(encoder.Encode(whole), os.WriteFile(dirs.file(&c), out.Bytes(), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		for _, step := range []struct {
			args []string
			want string
		}{
			{[]string{"install", everything, "--name", "notes", "--env", "DB=postgres://db/n?a=1&b=<2>"}, "now has"},
			{[]string{"install", everything, "--name", "notes", "--env", "DB=postgres://db/n?a=1&b=<2>"}, "already has"},
			{[]string{"install", everything, "--name", "notes", "--env", "DB=postgres://db/n?a=1&b=<3>"}, "now has"},
			{[]string{"uninstall", "notes"}, "no longer has"},
		} {
			out, errs, code := kagami(t, append(step.args, "--client", c.Name, "--yes")...)
			if code != 0 || !strings.Contains(out, step.want) || strings.Contains(errs, `\u00`) {
				t.Errorf("%s, %s: exit code %d\n%s%s", c.Name, step.args[0], code, out, errs)
			}
			rewrite()
		}
	}
}

// TestByteOrderMark checks that a byte order mark at the start of a configuration is accepted, and stays there.
func TestByteOrderMark(t *testing.T) {
	dirs := ownHome(t)
	for _, c := range clients.All() {
		before := "\uFEFF{\n  \"" + c.Member + "\": {\n    \"old\": { \"command\": \"x\" }\n  }\n}\n"
		if c.Member == "" {
			before = "\uFEFFmodel = \"x\"\n"
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(dirs.file(&c)), 0o700), os.WriteFile(dirs.file(&c), []byte(before), 0o600)); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"install", everything, "--name", "notes"}, {"uninstall", "notes"}} {
			_, errs, code := kagami(t, append(args, "--client", c.Name, "--yes")...)
			text, err := os.ReadFile(dirs.file(&c))
			if added := args[0] == "install"; code != 0 || err != nil || strings.Count(string(text), "\uFEFF") != 1 || (string(text) == before) == added {
				t.Errorf("%s, %s: exit code %d, %v\n%s%q", c.Name, args[0], code, err, errs, text)
			}
		}
	}
}

// TestCodexEntryWithMore checks that an entry stays whole if the user has added lines to it.
func TestCodexEntryWithMore(t *testing.T) {
	dirs := ownHome(t)
	codex, err := clientNamed("codex")
	if err != nil {
		t.Fatal(err)
	}
	if _, errs, code := kagami(t, "install", everything, "--client", "codex", "--name", "notes", "--yes"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, errs)
	}
	text, err := os.ReadFile(dirs.file(codex))
	if err != nil {
		t.Fatal(err)
	}
	for _, more := range []string{"startup_timeout_sec = 60\n", "\n[mcp_servers.notes.env]\nK = \"v\"\n"} {
		changed := "[mcp_servers.other]\ncommand = \"x\"\n" + string(text) + more
		if err := os.WriteFile(dirs.file(codex), []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"uninstall", "notes"}, {"install", everything, "--name", "notes", "--env", "A=b"}} {
			_, errs, code := kagami(t, append(args, "--client", "codex", "--yes")...)
			if now, err := os.ReadFile(dirs.file(codex)); code != 1 || err != nil || string(now) != changed || !strings.Contains(errs, "kagami did not write") {
				t.Errorf("%s: exit code %d, %v\n%s%s", args[0], code, err, errs, now)
			}
		}
	}
}

// TestInstallHere checks that a file in this directory is installed, and not a program of its name in PATH,
// and that the paths among the arguments do not depend on the directory of the client.
func TestInstallHere(t *testing.T) {
	ownHome(t)
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"notes", "go"} {
		if err := os.WriteFile(name, []byte("#!/bin/sh\n"), 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
		out, errs, code := kagami(t, "install", name, "--client", "cursor", "--print")
		if code != 0 || !strings.Contains(out, `"command": "`+filepath.Join(here, name)+`"`) {
			t.Errorf("%s: exit code %d\n%s%s", name, code, out, errs)
		}
	}
	for _, dir := range []string{"dist", "data"} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"server.js", "dist/server.js"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for arg, want := range map[string]string{
		"server.js": here + "/server.js", "dist/server.js": here + "/dist/server.js", "./data": here + "/data", ".": here,
		"data": "data", "notes": "notes", "other.js": "other.js", "./other": "./other", "-v": "-v", here + "/server.js": here + "/server.js",
	} {
		out, errs, code := kagami(t, "install", "--client", "cursor", "--name", "n", "--print", "--", "./notes", arg)
		if code != 0 || !strings.Contains(out, "\""+want+"\"\n      ]") {
			t.Errorf("%s: exit code %d\n%s%s", arg, code, out, errs)
		}
	}
}
