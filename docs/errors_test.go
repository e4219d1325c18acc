package docs_test

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated parts of the pages")

// message is a row of the table: a text, where it comes from, and what to do. Without a fix in the code
// the last is written by hand, in the page.
type message struct {
	text, from, fix string
}

// find returns the messages of one file.
type find func(s *source, file *ast.File) []message

// part is one section of the table.
type part struct {
	title, intro string
	dirs         []string
	only, except string // files, as regular expressions; an empty one selects all, or none
	find         find
	omit         string // texts that no user meets, as a regular expression; an empty one omits none
}

const (
	tableBegin = "<!-- the messages, written by go test ./docs -run TestErrorTable -update -->\n"
	tableEnd   = "<!-- end of the messages -->\n"
)

// TestErrorTable: messages.md has each message of the code. -update adds a row for a new one;
// if the code has no fix for it, the row needs one by hand.
func TestErrorTable(t *testing.T) {
	t.Parallel()
	const page = "messages.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(text), tableBegin)
	old, after, ended := strings.Cut(rest, tableEnd)
	if !begun || !ended {
		t.Fatalf("%s has no lines %s and %s", page, tableBegin, tableEnd)
	}
	table := errorTable(t, byHand(old))
	if *update {
		if err := os.WriteFile(page, []byte(before+tableBegin+table+tableEnd+after), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if table != old {
		t.Errorf("%s is stale: go test ./docs -run TestErrorTable -update", page)
	}
	for line := range strings.SplitSeq(table, "\n") {
		if strings.HasSuffix(line, "| FIX ME BY HAND |") {
			t.Errorf("%s: say what to do: %s", page, line)
		}
	}
}

var tableRow = regexp.MustCompile("(?m)^\\| (`.*`) \\| .* \\| (.*) \\|$")

// byHand returns the last column of the rows of a table, by the message.
func byHand(table string) map[string]string {
	fixes := map[string]string{}
	for _, row := range tableRow.FindAllStringSubmatch(table, -1) {
		fixes[row[1]] = row[2]
	}
	return fixes
}

func errorTable(t *testing.T, written map[string]string) string {
	t.Helper()
	var out strings.Builder
	sources := map[string]*source{}
	for _, p := range parts {
		var rows []string
		for _, m := range p.messages(t, sources) {
			text := inline(m.text)
			fix := sentence(m.fix)
			if fix == "" {
				fix = written[text]
			}
			if fix == "" {
				fix = "FIX ME BY HAND"
			}
			rows = append(rows, fmt.Sprintf("| %s | %s | %s |\n", text, m.from, fix))
		}
		slices.Sort(rows)
		fmt.Fprintf(&out, "\n### %s\n\n%s\n\n| message | from | what to do |\n|---|---|---|\n%s", p.title, p.intro, strings.Join(slices.Compact(rows), ""))
	}
	return out.String() + "\n"
}

// messages returns one message for each text of the part.
func (p part) messages(t *testing.T, sources map[string]*source) []message {
	t.Helper()
	found := map[string]message{}
	for _, dir := range p.dirs {
		if sources[dir] == nil {
			sources[dir] = parsed(t, dir)
		}
		s := sources[dir]
		for i, file := range s.files {
			if !p.covers(dir + "/" + s.names[i]) {
				continue
			}
			for _, m := range p.find(s, file) {
				m.text = strings.ReplaceAll(strings.Join(strings.Fields(m.text), " "), unknown+unknown, unknown)
				if !tells(m.text) || p.omit != "" && regexp.MustCompile(p.omit).MatchString(m.text) {
					continue
				}
				if earlier, twice := found[m.text]; twice && earlier.fix != m.fix && earlier.fix != "" {
					m.fix = earlier.fix + "\n" + m.fix
				}
				found[m.text] = m
			}
		}
	}
	all := make([]message, 0, len(found))
	for _, m := range found {
		all = append(all, m)
	}
	return all
}

func (p part) covers(file string) bool {
	return (p.only == "" || regexp.MustCompile(p.only).MatchString(file)) && (p.except == "" || !regexp.MustCompile(p.except).MatchString(file))
}

// tells reports whether a text has a message of its own. One that only names the operation in front of
// another error has none.
func tells(text string) bool {
	if strings.HasSuffix(text, ": "+unknown) && !strings.Contains(text, "want") && !strings.Contains(text, "not found") || !strings.ContainsFunc(text, func(r rune) bool { return r >= 'a' && r <= 'z' }) {
		return false
	}
	return strings.Contains(strings.TrimSpace(strings.ReplaceAll(text, unknown, "")), " ")
}

// inline writes a text as code in a table.
func inline(text string) string {
	text = strings.ReplaceAll(text, "|", `\|`)
	if strings.Contains(text, "`") {
		return "`` " + text + " ``"
	}
	return "`" + text + "`"
}

// sentence ends each of several fixes with a period, and writes tags as code.
func sentence(fixes string) string {
	var all []string
	for fix := range strings.SplitSeq(fixes, "\n") {
		if fix = strings.TrimSpace(fix); fix == "" || fix == unknown {
			continue
		}
		if !strings.HasSuffix(fix, ".") && !strings.HasSuffix(fix, "?") && !strings.HasSuffix(fix, unknown) {
			fix += "."
		}
		if !slices.Contains(all, fix) {
			all = append(all, fix)
		}
	}
	return strings.ReplaceAll(strings.Join(all, " Or: "), "|", `\|`)
}

// inFunctions calls visit for each node, with the declaration around it.
func inFunctions(file *ast.File, visit func(n ast.Node, around *ast.FuncDecl)) {
	for _, decl := range file.Decls {
		fn, _ := decl.(*ast.FuncDecl)
		ast.Inspect(decl, func(n ast.Node) bool {
			if n != nil {
				visit(n, fn)
			}
			return true
		})
	}
}

func within(s *source, fn *ast.FuncDecl) wording {
	if fn == nil {
		return wording{source: s}
	}
	return wording{source: s, body: fn.Body}
}

// both returns a message for each form of a problem, with all forms of the fix.
func both(w wording, from string, problem, fix ast.Expr) []message {
	var all []message
	var fixes string
	if fix != nil {
		fixes = strings.Join(w.texts(fix), "\n")
	}
	for _, text := range w.texts(problem) {
		all = append(all, message{text, from, fixes})
	}
	return all
}

// faults finds the calls and literals that make a Fault: the problem and the fix are the last two
// arguments.
func faults(s *source, file *ast.File) []message {
	var all []message
	inFunctions(file, func(n ast.Node, fn *ast.FuncDecl) {
		switch n := n.(type) {
		case *ast.CallExpr:
			name, count := calleeName(n), len(n.Args)
			switch {
			case (name == "fault" || name == "Fault" || name == "report" && count == 3) && count >= 2:
				all = append(all, both(within(s, fn), "Build", n.Args[count-2], n.Args[count-1])...)
			case (name == "warn" || name == "Warn" && strings.HasPrefix(s.dir, "framework/internal/binding")) && count >= 2:
				all = append(all, both(within(s, fn), "Build, warning", n.Args[count-2], n.Args[count-1])...)
			}
		case *ast.CompositeLit:
			all = append(all, faultLiteral(within(s, fn), n)...)
		}
	})
	return all
}

func faultLiteral(w wording, lit *ast.CompositeLit) []message {
	from := "Build"
	var problem, fix ast.Expr
	for _, element := range lit.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		switch key, _ := pair.Key.(*ast.Ident); {
		case key == nil:
		case key.Name == "Problem":
			problem = pair.Value
		case key.Name == "Fix":
			fix = pair.Value
		case key.Name == "Warning":
			from = "Build, warning"
		}
	}
	if problem == nil {
		return nil
	}
	return both(w, from, problem, fix)
}

// buildFaults adds what options say of their arguments: the text that their function returns, or the
// one that they pass to checked.
func buildFaults(s *source, file *ast.File) []message {
	all := faults(s, file)
	add := func(fn *ast.FuncDecl, result ast.Expr) {
		prefix := ""
		if fn.Recv == nil && fn.Name.IsExported() {
			prefix = fn.Name.Name + ": "
		}
		for _, m := range both(within(s, fn), "Build", result, nil) {
			if tells(m.text) {
				all = append(all, message{text: prefix + m.text, from: m.from})
			}
		}
	}
	inFunctions(file, func(n ast.Node, fn *ast.FuncDecl) {
		switch n := n.(type) {
		case *ast.CallExpr:
			if calleeName(n) == "checked" && fn != nil {
				add(fn, n.Args[1])
			}
		case *ast.FuncLit:
			if returnsText(n.Type) {
				returns(n.Body, func(result ast.Expr) { add(fn, result) })
			}
		case *ast.FuncDecl:
			if n.Body != nil && returnsProblem(n) {
				returns(n.Body, func(result ast.Expr) { add(n, result) })
			}
		}
	})
	return all
}

func returnsText(fn *ast.FuncType) bool {
	if fn.Results == nil || len(fn.Results.List) != 1 || fn.Params == nil || len(fn.Params.List) != 1 {
		return false
	}
	result, text := fn.Results.List[0].Type.(*ast.Ident)
	_, pointer := fn.Params.List[0].Type.(*ast.StarExpr)
	return text && pointer && result.Name == "string"
}

func returnsProblem(fn *ast.FuncDecl) bool {
	return strings.HasSuffix(strings.ToLower(fn.Name.Name), "problem")
}

func returns(body *ast.BlockStmt, visit func(result ast.Expr)) {
	ast.Inspect(body, func(n ast.Node) bool {
		if _, inner := n.(*ast.FuncLit); inner {
			return false
		}
		if r, ok := n.(*ast.ReturnStmt); ok && len(r.Results) > 0 {
			visit(r.Results[len(r.Results)-1])
		}
		return true
	})
}

// errorsMade finds the errors that a file makes.
func errorsMade(s *source, file *ast.File, visit func(call *ast.CallExpr, fn *ast.FuncDecl, texts []string)) {
	inFunctions(file, func(n ast.Node, fn *ast.FuncDecl) {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return
		}
		if selector, ok := call.Fun.(*ast.SelectorExpr); ok {
			pkg, _ := selector.X.(*ast.Ident)
			if pkg != nil && (pkg.Name == "errors" && selector.Sel.Name == "New" || pkg.Name == "fmt" && selector.Sel.Name == "Errorf") {
				visit(call, fn, within(s, fn).texts(call))
			}
		}
	})
}

func madeFrom(from string) find {
	return func(s *source, file *ast.File) []message {
		var all []message
		errorsMade(s, file, func(_ *ast.CallExpr, _ *ast.FuncDecl, texts []string) {
			for _, text := range texts {
				all = append(all, message{text: text, from: from})
			}
		})
		return all
	}
}

var callErrors = madeFrom("call")

// typeFaults adds the errors of schemas and templates, which a fault has as its text.
func typeFaults(s *source, file *ast.File) []message {
	all := append(buildFaults(s, file), madeFrom("Build")(s, file)...)
	return append(all, calls(s, file, "fail", "Build")...)
}

// calls finds the texts of the calls of a function of the package.
func calls(s *source, file *ast.File, name, from string) []message {
	var all []message
	inFunctions(file, func(n ast.Node, fn *ast.FuncDecl) {
		call, ok := n.(*ast.CallExpr)
		if !ok || calleeName(call) != name || len(call.Args) == 0 {
			return
		}
		texts := within(s, fn).texts(call.Args[0])
		if len(call.Args) > 1 && texts[0] == unknown { // behind an offset or a kind
			texts = within(s, fn).texts(call.Args[1])
		}
		for _, text := range texts {
			all = append(all, message{text: verb.ReplaceAllString(text, unknown), from: from})
		}
	})
	return all
}

func startErrors(s *source, file *ast.File) []message {
	from := filepath.Base(s.dir)
	return append(madeFrom(from)(s, file), calls(s, file, "usagef", "serve, exit code 2")...)
}

// teachings finds what the errors of arguments say, and the errors that are made for the caller.
func teachings(s *source, file *ast.File) []message {
	var all []message
	for _, name := range []string{"UserErrorf", "NotFoundf"} {
		all = append(all, calls(s, file, name, "call")...)
	}
	inFunctions(file, func(n ast.Node, fn *ast.FuncDecl) {
		if fn == nil || fn.Recv == nil || fn.Name.Name != "String" || !receiver(fn, "Issue") {
			return
		}
		if a, ok := n.(*ast.AssignStmt); ok {
			for _, text := range within(s, fn).texts(a.Rhs[0]) {
				if strings.HasSuffix(text, ".") {
					all = append(all, message{text: "/PATH: " + text, from: "call"})
				}
			}
		}
	})
	return all
}

func receiver(fn *ast.FuncDecl, name string) bool { return named(fn.Recv.List[0].Type, name) }

func named(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

func usageErrors(s *source, file *ast.File) []message {
	return calls(s, file, "usagef", "CLI, exit 2")
}

// exits are the functions and types around an error that decide the exit code.
var exits = map[string]string{
	"unreachedError": "CLI, exit 4", "unlistedError": "CLI, exit 7", "missingError": "CLI, exit 7", "toolError": "CLI, exit 5", "changedError": "CLI, exit 6",
}

// wrapped are the files, functions and texts whose errors a caller wraps into an error with another exit code.
var wrapped = map[string]string{
	"coerce.go": "CLI, exit 2", "root.go": "CLI, exit 2", "server.go": "CLI, exit 4", "field.go": "CLI, question",
	"words": "CLI, exit 2", "readAnswers": "CLI, exit 2", "readList": "CLI, exit 2", "readObject": "CLI, exit 2", "checkAnswer": "CLI, exit 2",
	"roots": "CLI, exit 2", "inspecting the server: …\n…": "CLI, exit 4",
}

func failures(s *source, file *ast.File) []message {
	codes := map[ast.Node]string{}
	var all []message
	inFunctions(file, func(n ast.Node, fn *ast.FuncDecl) {
		if lit, ok := n.(*ast.CompositeLit); ok && len(lit.Elts) == 1 {
			if name, ok := lit.Type.(*ast.Ident); ok && exits[name.Name] != "" {
				codes[lit.Elts[0]] = exits[name.Name]
				if name.Name != "unreachedError" {
					all = append(all, both(within(s, fn), exits[name.Name], lit.Elts[0], nil)...)
				}
			}
		}
	})
	name := ""
	if i := slices.Index(s.files, file); s.dir == "cmd/kagami" && i >= 0 {
		name = s.names[i]
	}
	errorsMade(s, file, func(call *ast.CallExpr, fn *ast.FuncDecl, texts []string) {
		if fn != nil && fn.Name.Name == "usagef" {
			return
		}
		from := cmp.Or(codes[call], "CLI, exit 1")
		if outer := wrapped[name]; outer != "" && codes[call] == "" {
			from = outer
		}
		if fn != nil && wrapped[fn.Name.Name] != "" {
			from = wrapped[fn.Name.Name]
		}
		for _, text := range texts {
			all = append(all, message{text: text, from: cmp.Or(wrapped[text], from)})
		}
	})
	return all
}

// warnings finds the log entries of level warn and above. Carriers log with a function named warn. Its
// argument is the whole line.
func warnings(s *source, file *ast.File) []message {
	var all []message
	inFunctions(file, func(n ast.Node, fn *ast.FuncDecl) {
		call, ok := n.(*ast.CallExpr)
		if ok && len(call.Args) == 1 && calleeName(call) == "warn" {
			for _, text := range within(s, fn).texts(call.Args[0]) {
				all = append(all, message{text: text, from: "log, warn"})
			}
		}
		if !ok || len(call.Args) < 1 || calleeName(call) != "Warn" && calleeName(call) != "Error" {
			return
		}
		if selector, ok := call.Fun.(*ast.SelectorExpr); ok && !named(selector.X, "fx") && !named(selector.X, "zap") {
			for _, text := range within(s, fn).texts(call.Args[0]) {
				all = append(all, message{text: text, from: "log, " + strings.ToLower(selector.Sel.Name)})
			}
		}
	})
	return all
}
