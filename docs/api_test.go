package docs_test

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	modulePath = "github.com/kagami-mcp/kagami/"
	apiBegin   = "<!-- the packages, written by go test ./docs -run TestAPI -update -->\n"
	apiEnd     = "<!-- end of the packages -->\n"
)

// apiGroups are the packages that programs import, in the order of the page.
var apiGroups = []struct {
	title string
	dirs  []string
}{
	{"Servers", []string{"framework", "framework/serve", "framework/mcpfx"}},
	{"Transports", []string{"transport/fiberhttp", "transport/nethttp", "transport/stdio", "transport/inmem"}},
	{"Stores", []string{"framework/store", "framework/store/memory", "framework/store/boltstore", "framework/store/redisstore"}},
	{"Middleware", []string{"middleware", "middleware/auth", "middleware/authserver", "middleware/prometheus"}},
	{"Tests", []string{"testkit", "framework/mcpfx/mcpfxtest", "testkit/storetest", "testkit/transporttest"}},
	{"Clients", []string{"protocol/client", "protocol/client/oauth"}},
	{"Tools around a server", []string{"framework/serve/clients", "framework/serve/inspect", "framework/serve/page", "framework/serve/record", "framework/serve/surface", "framework/serve/surface/contract", "framework/serve/surface/profile"}},
	{"Types and contracts", []string{"protocol", "transport", "protocol/task", "protocol/session", "protocol/eventlog", "protocol/claim", "protocol/change"}},
}

// ownPackages are importable, but made for Kagami's own code: the page has only their first sentence.
var ownPackages = []string{"framework/testhook", "protocol/dialect", "protocol/engine", "protocol/jsonrpc", "protocol/jsontext", "protocol/lazyctx", "protocol/rounds"}

// TestAPI: api.md has each exported identifier of the packages that programs import. -update writes it.
func TestAPI(t *testing.T) {
	t.Parallel()
	const page = "api.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(text), apiBegin)
	old, after, ended := strings.Cut(rest, apiEnd)
	if !begun || !ended {
		t.Fatalf("%s has no lines %s and %s", page, apiBegin, apiEnd)
	}
	packages := apiPackages(t)
	for line := range strings.SplitSeq(packages, "\n") {
		if strings.Contains(line, "` |  ") {
			t.Errorf("no doc comment: %s", line)
		}
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+apiBegin+packages+apiEnd+after), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if packages != old {
		t.Errorf("%s is stale, beginning with %q: go test ./docs -run TestAPI -update", page, firstChange(packages, old))
	}
}

// firstChange returns the first line of text that differs from the line of old.
func firstChange(text, old string) string {
	lines := strings.Split(old, "\n")
	for i, line := range strings.Split(text, "\n") {
		if i >= len(lines) || line != lines[i] {
			return line
		}
	}
	return ""
}

// TestAPIHasEveryPackage: each public package is in a group of the page.
func TestAPIHasEveryPackage(t *testing.T) {
	t.Parallel()
	listed := slices.Clone(ownPackages)
	for _, group := range apiGroups {
		listed = append(listed, group.dirs...)
	}
	for _, dir := range publicDirs(t) {
		if !slices.Contains(listed, dir) {
			t.Errorf("package %s is public: add it to apiGroups or to ownPackages", dir)
		}
	}
}

// publicDirs returns the directories of the packages that other modules can import.
func publicDirs(t *testing.T) []string {
	t.Helper()
	var dirs []string
	for _, top := range []string{"framework", "middleware", "protocol", "testkit", "transport"} {
		err := filepath.WalkDir(filepath.Join("..", top), func(path string, entry fs.DirEntry, err error) error {
			dir := filepath.ToSlash(strings.TrimPrefix(path, ".."+string(filepath.Separator)))
			switch {
			case err != nil || !entry.IsDir():
				return err
			case slices.Contains([]string{"internal", "testdata", "node_modules"}, entry.Name()), slices.Contains([]string{"testkit/bench", "testkit/interop", "framework/serve/page/browser"}, dir):
				return fs.SkipDir
			case slices.ContainsFunc(goPaths(t, dir), isProgramFile):
				dirs = append(dirs, dir)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return dirs
}

func isProgramFile(path string) bool { return !strings.HasSuffix(path, "_test.go") }

func goPaths(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func apiPackages(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	for _, group := range apiGroups {
		fmt.Fprintf(&out, "\n## %s\n", group.title)
		for _, dir := range group.dirs {
			p := documented(t, dir)
			fmt.Fprintf(&out, "\n### %s\n\n[`%s`](https://pkg.go.dev/%s): %s\n", dir, dir, modulePath+dir, summary(p, p.Doc))
			for _, topic := range topics(p) {
				if topic.title != "" {
					fmt.Fprintf(&out, "\n#### %s\n", topic.title)
				}
				fmt.Fprintf(&out, "\n| name | meaning |\n|---|---|\n%s", strings.Join(topic.rows, ""))
			}
		}
	}
	out.WriteString("\n## Kagami's own packages\n\nPrograms seldom need them, and their API changes more often.\n\n| package | contents |\n|---|---|\n")
	for _, dir := range ownPackages {
		p := documented(t, dir)
		fmt.Fprintf(&out, "| [`%s`](https://pkg.go.dev/%s) | %s |\n", dir, modulePath+dir, summary(p, p.Doc))
	}
	return out.String() + "\n"
}

// apiBuild is the platform of the page, so that the page is the same on every machine.
var apiBuild = func() build.Context {
	c := build.Default
	c.GOOS, c.GOARCH, c.CgoEnabled = "linux", "amd64", false
	return c
}()

// documented returns the documentation of a package, as go doc reads it.
func documented(t *testing.T, dir string) *doc.Package {
	t.Helper()
	fileSet := token.NewFileSet()
	var files []*ast.File
	for _, path := range goPaths(t, dir) {
		matches, err := apiBuild.MatchFile(filepath.Split(path))
		if err != nil {
			t.Fatal(err)
		}
		if !matches || !isProgramFile(path) {
			continue
		}
		file, err := parser.ParseFile(fileSet, path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	p, err := doc.NewFromFiles(fileSet, files, modulePath+dir)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// entry is a row of the page: one identifier, or several constants with one comment.
type entry struct{ name, row string }

// entries returns the rows of a package in the order of go doc.
func entries(p *doc.Package) []entry {
	all := slices.Concat(values(p, p.Consts), values(p, p.Vars), functions(p, p.Funcs))
	for _, kind := range p.Types {
		all = append(all, row(p, []string{kind.Name}, kind.Doc, members(kind)))
		all = slices.Concat(all, values(p, kind.Consts), values(p, kind.Vars), functions(p, kind.Funcs))
	}
	return all
}

func row(p *doc.Package, names []string, text, more string) entry {
	return entry{names[0], fmt.Sprintf("| `%s` | %s%s |\n", strings.Join(names, "`, `"), summary(p, text), more)}
}

func functions(p *doc.Package, funcs []*doc.Func) []entry {
	var all []entry
	for _, f := range funcs {
		all = append(all, row(p, []string{f.Name}, f.Doc, ""))
	}
	return all
}

// values returns one row for each comment of constants or variables.
func values(p *doc.Package, groups []*doc.Value) []entry {
	var all []entry
	for _, group := range groups {
		var shared []string
		for _, spec := range group.Decl.Specs {
			v, _ := spec.(*ast.ValueSpec)
			names := exported(v.Names)
			switch text := v.Doc.Text() + v.Comment.Text(); {
			case len(names) == 0:
			case text == "":
				shared = append(shared, names...)
			default:
				all = append(all, row(p, names, text, ""))
			}
		}
		if len(shared) > 0 {
			all = append(all, row(p, shared, group.Doc, ""))
		}
	}
	return all
}

func exported(idents []*ast.Ident) []string {
	var names []string
	for _, id := range idents {
		if id.IsExported() {
			names = append(names, id.Name)
		}
	}
	return names
}

// members returns the names of a type's fields and methods, as the end of its row.
func members(kind *doc.Type) string {
	var fields, methods []string
	for _, spec := range kind.Decl.Specs {
		switch t := spec.(*ast.TypeSpec).Type.(type) {
		case *ast.StructType:
			for _, field := range t.Fields.List {
				fields = append(fields, exported(field.Names)...)
			}
		case *ast.InterfaceType:
			for _, method := range t.Methods.List {
				methods = append(methods, exported(method.Names)...)
			}
		}
	}
	for _, method := range kind.Methods {
		methods = append(methods, method.Name)
	}
	return list("Fields", fields) + list("Methods", methods)
}

func list(title string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " " + title + ": `" + strings.Join(names, "`, `") + "`."
}

// summary returns the first sentence of a doc comment for a cell of a table.
func summary(p *doc.Package, text string) string {
	text = strings.TrimSpace(strings.TrimPrefix(p.Synopsis("- "+text), "-")) // alone, a text that begins with "Author" is left out
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "{{", "&#123;&#123;", "*", `\*`, "_", `\_`).Replace(text)
}

type apiTopic struct {
	title string
	rows  []string
}

// topics returns the rows of a package under the headings of its doc comment that name most of the
// identifiers, or under one empty heading.
func topics(p *doc.Package) []*apiTopic {
	titles, order := linked(p)
	all := entries(p)
	if len(order) < len(all)/2 {
		titles, order = nil, nil
	}
	slices.SortStableFunc(all, func(a, b entry) int { return place(order, a.name) - place(order, b.name) })
	var topics []*apiTopic
	for _, e := range all {
		title := titles[e.name]
		if title == "" && len(order) > 0 {
			title = "More"
		}
		if len(topics) == 0 || topics[len(topics)-1].title != title {
			topics = append(topics, &apiTopic{title: title})
		}
		topics[len(topics)-1].rows = append(topics[len(topics)-1].rows, e.row)
	}
	return topics
}

func place(order []string, name string) int {
	if i := slices.Index(order, name); i >= 0 {
		return i
	}
	return len(order)
}

// linked returns the heading of a package's doc comment under which each identifier is first linked to in a list,
// and the identifiers in the order of the links.
func linked(p *doc.Package) (titles map[string]string, order []string) {
	titles, title := map[string]string{}, ""
	for _, block := range p.Parser().Parse(p.Doc).Content {
		switch block := block.(type) {
		case *comment.Heading:
			title = plainText(block.Text)
		case *comment.List:
			for _, name := range links(block) {
				if title != "" && titles[name] == "" {
					titles[name] = title
					order = append(order, name)
				}
			}
		}
	}
	return titles, order
}

func plainText(texts []comment.Text) string {
	var all strings.Builder
	for _, text := range texts {
		if plain, ok := text.(comment.Plain); ok {
			all.WriteString(string(plain))
		}
	}
	return all.String()
}

// links returns the identifiers of the package that a list links to.
func links(list *comment.List) []string {
	var names []string
	for _, item := range list.Items {
		for _, block := range item.Content {
			paragraph, ok := block.(*comment.Paragraph)
			if !ok {
				continue
			}
			for _, text := range paragraph.Text {
				if link, ok := text.(*comment.DocLink); ok && link.ImportPath == "" && link.Recv == "" {
					names = append(names, link.Name)
				}
			}
		}
	}
	return names
}
