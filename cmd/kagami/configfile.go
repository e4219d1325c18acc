package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/tailscale/hujson"

	"github.com/kagami-mcp/kagami/framework/serve/clients"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// configFile is a client's configuration file. Changes keep its comments and the order of its
// members.
type configFile struct {
	client *clients.Program
	path   string
	disk   []byte // content when it was read; nil: the file does not exist
	read   []byte // disk without its byte order mark, with line ends of Unix
	mark   []byte // byte order mark of the file, or empty
	ends   string // how lines end in the file
}

func (d directories) open(c *clients.Program) (*configFile, error) {
	f := &configFile{client: c, path: d.file(c)}
	text, err := os.ReadFile(f.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if _, there := os.Lstat(f.path); err != nil && there == nil {
		return nil, fmt.Errorf("%s is a link to a file that does not exist: create the file, or remove the link", f.path)
	}
	f.disk, f.ends = text, "\n"
	text = jsontext.TrimBOM(text)
	f.read, f.mark = text, f.disk[:len(f.disk)-len(text)]
	if lines := bytes.Count(text, []byte("\n")); lines > 0 && lines == bytes.Count(text, []byte("\r\n")) {
		f.read, f.ends = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), "\r\n"
	}
	return f, nil
}

// servers returns the entries in the file by name.
func (f *configFile) servers() (map[string]json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	switch {
	case f.client.Member == "":
		return tables(f.path, f.read)
	case len(bytes.TrimSpace(f.read)) == 0:
		return all, nil
	}
	standard, err := hujson.Standardize(bytes.Clone(f.read))
	if err != nil {
		return nil, f.invalid(err)
	}
	var whole map[string]json.RawMessage
	if json.Unmarshal(standard, &whole) != nil {
		return nil, fmt.Errorf("%s does not contain a JSON object", f.path)
	}
	if member := whole[f.client.Member]; len(member) > 0 {
		if json.Unmarshal(member, &all) != nil {
			return nil, fmt.Errorf("%s: %s is not a JSON object", f.path, f.client.Member)
		}
	}
	return all, nil
}

// tables returns the entries in a file of Codex, as the JSON that other clients have.
func tables(path string, text []byte) (map[string]json.RawMessage, error) {
	var whole struct {
		Servers map[string]map[string]any `toml:"mcp_servers"`
	}
	if err := toml.Unmarshal(text, &whole); err != nil {
		return nil, fmt.Errorf("%s is invalid TOML: %w", path, err)
	}
	all := map[string]json.RawMessage{}
	for name, table := range whole.Servers {
		if fields, ok := table["http_headers"]; ok {
			table["headers"] = fields
		}
		entry, err := json.Marshal(table)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, name, err)
		}
		all[name] = entry
	}
	return all, nil
}

// holds reports whether the file has a server with this name. own reports whether its entry is the
// one that kagami wrote.
func (f *configFile) holds(name, written string) (there, own bool, err error) {
	all, err := f.servers()
	switch {
	case err != nil || all[name] == nil:
		return false, false, err
	case f.client.Member == "":
		wrote, err := tables(f.path, []byte(written)) // the user may have added lines to the table
		return true, written != "" && err == nil && bytes.Equal(wrote[name], all[name]) && bytes.Contains(f.read, []byte(written)), nil
	}
	return true, sameJSON(all[name], []byte(written)), nil
}

// sameJSON reports whether two texts are JSON of the same value. A client may write its file again with other
// escapes, and with its members in another order.
func sameJSON(a, b []byte) bool {
	one, ok := decode(a)
	other, also := decode(b)
	return ok && also && reflect.DeepEqual(one, other)
}

// inlineServers finds an inline table of servers. TOML has no tables beside it.
var inlineServers = regexp.MustCompile(`(?m)^[ \t]*["']?mcp_servers["']?[ \t]*=`)

// hasInline reports whether the file has an inline table of servers. A line within a text of several
// lines does not count: the TOML before it is not complete.
func hasInline(text []byte) bool {
	return slices.ContainsFunc(inlineServers.FindAllIndex(text, -1), func(at []int) bool {
		var before map[string]any
		return toml.Unmarshal(text[:at[0]], &before) == nil
	})
}

// with returns the text of the file with an entry for the server, and the text of the entry. The entry takes the
// place of written, which kagami wrote before. Without one, it is added at the end.
func (f *configFile) with(r *clients.Server, written string) (text []byte, entry string, err error) {
	if f.client.Member == "" {
		if hasInline(f.read) {
			return nil, "", fmt.Errorf("%s has mcp_servers in one line, where a table cannot be added: add by hand what --print shows", f.path)
		}
		entry = r.TOML()
		if written != "" {
			return bytes.Replace(f.read, []byte(written), []byte(entry), 1), entry, nil
		}
		return append(bytes.Clone(f.read), entry...), entry, nil
	}
	tree, err := f.tree()
	if err != nil {
		return nil, "", err
	}
	root, ok := tree.Value.(*hujson.Object)
	if !ok {
		return nil, "", fmt.Errorf("%s does not contain a JSON object", f.path)
	}
	unit := indentOf(root)
	if tree.Find("/"+f.client.Member) == nil {
		insert(root, f.client.Member, hujson.Value{Value: &hujson.Object{}}, unit, 1)
	}
	servers, ok := tree.Find("/" + f.client.Member).Value.(*hujson.Object)
	if !ok {
		return nil, "", fmt.Errorf("%s: %s is not a JSON object", f.path, f.client.Member)
	}
	var value bytes.Buffer
	out := json.NewEncoder(&value)
	out.SetIndent(strings.Repeat(unit, 2), unit)
	out.SetEscapeHTML(false)
	if err := out.Encode(f.client.Entry(r)); err != nil {
		return nil, "", err
	}
	if entry = string(jsontext.Compact(nil, value.Bytes())); sameJSON([]byte(entry), []byte(written)) {
		return f.read, entry, nil
	}
	parsed, err := hujson.Parse(bytes.TrimSpace(value.Bytes()))
	if err != nil {
		return nil, "", err
	}
	if at := memberOf(servers, r.Name); written != "" && at >= 0 {
		old := &servers.Members[at].Value
		parsed.BeforeExtra, parsed.AfterExtra = old.BeforeExtra, old.AfterExtra
		*old = parsed
	} else {
		insert(servers, r.Name, parsed, unit, 2)
	}
	return tree.Pack(), entry, nil
}

// memberOf returns the index of a member of an object, or -1.
func memberOf(o *hujson.Object, name string) int {
	return slices.IndexFunc(o.Members, func(m hujson.ObjectMember) bool {
		literal, ok := m.Name.Value.(hujson.Literal)
		return ok && literal.String() == name
	})
}

// indentOf returns the indent of the members in the file.
func indentOf(root *hujson.Object) string {
	if len(root.Members) > 0 {
		before := string(root.Members[0].Name.BeforeExtra)
		if at := strings.LastIndexByte(before, '\n'); at >= 0 && strings.TrimLeft(before[at+1:], " \t") == "" && at+1 < len(before) {
			return before[at+1:]
		}
	}
	return "  "
}

// insert adds a member at the end of an object at this depth. Comments at the end of the object
// stay before the new member.
func insert(o *hujson.Object, name string, value hujson.Value, unit string, depth int) {
	before := strings.TrimRight(string(o.AfterExtra), " \t\n\r") + "\n" + strings.Repeat(unit, depth)
	value.BeforeExtra, value.AfterExtra = hujson.Extra(" "), nil
	if last := len(o.Members) - 1; last >= 0 && o.Members[last].Value.AfterExtra != nil {
		value.AfterExtra = hujson.Extra{} // the file has a comma after the last member
	}
	o.Members = append(o.Members, hujson.ObjectMember{
		Name: hujson.Value{BeforeExtra: hujson.Extra(before), Value: hujson.String(name)}, Value: value,
	})
	o.AfterExtra = hujson.Extra("\n" + strings.Repeat(unit, depth-1))
}

// without returns the text of the file without an entry. The argument entry is the text that kagami
// wrote.
func (f *configFile) without(name, entry string) ([]byte, error) {
	if f.client.Member == "" {
		return bytes.Replace(f.read, []byte(entry), nil, 1), nil
	}
	tree, err := f.tree()
	if err != nil {
		return nil, err
	}
	if found := tree.Find("/" + f.client.Member); found != nil {
		if servers, ok := found.Value.(*hujson.Object); ok {
			remove(servers, name)
		}
	}
	return tree.Pack(), nil
}

// remove deletes a member of an object. Comments before the member stay.
func remove(o *hujson.Object, name string) {
	at := memberOf(o, name)
	if at < 0 {
		return
	}
	comments := strings.TrimRight(string(o.Members[at].Name.BeforeExtra), " \t\n\r")
	after := &o.AfterExtra
	if at+1 < len(o.Members) {
		after = &o.Members[at+1].Name.BeforeExtra
	}
	*after = hujson.Extra(comments + string(*after))
	if at > 0 && at == len(o.Members)-1 && o.Members[at].Value.AfterExtra != nil {
		o.Members[at-1].Value.AfterExtra = hujson.Extra{} // the comma after the last member stays
	}
	o.Members = slices.Delete(o.Members, at, at+1)
}

func (f *configFile) tree() (*hujson.Value, error) {
	text := f.read
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	tree, err := hujson.Parse(text)
	if err != nil {
		return nil, f.invalid(err)
	}
	return &tree, nil
}

// invalid returns the error for a file that is not JSON. It does not wrap err: an unexpected end would count as a
// broken connection.
func (f *configFile) invalid(err error) error {
	return fmt.Errorf("%s is invalid JSON: %s", f.path, err.Error())
}

// check returns an error if a client that reads the text does not find this entry under the name. If entry is "",
// the client must not find the name. A file may have the same member twice, or TOML that no table can be added to.
func (f *configFile) check(text []byte, name, entry string) error {
	after := *f
	after.read = text
	if there, own, err := after.holds(name, entry); err != nil || there != (entry != "") || there && !own {
		return fmt.Errorf("%s is not changed, because its servers are in several places, or in a form that kagami does not change: edit it by hand", f.path)
	}
	return nil
}

// save writes the file, and then records the entry that kagami has written; "" records that it is gone. If the
// file cannot be written, the record stays, because the file still has the earlier entry.
func (f *configFile) save(text []byte, dirs directories, name, entry string) error {
	if err := f.write(text); err != nil {
		return err
	}
	installed, err := dirs.installed()
	if err != nil {
		return err
	}
	return installed.keep(dirs, f.client.Name, name, entry)
}

// write replaces the file in one step, so that a client never reads a half-written file. A change
// since it was read is an error, because the client itself may have written the file.
func (f *configFile) write(text []byte) error {
	now, err := os.ReadFile(f.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !bytes.Equal(now, f.disk) {
		return fmt.Errorf("%s was changed by another program: try again", f.path)
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return err
	}
	mode := fs.FileMode(0o600)
	path := f.path
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
		if whole, err := filepath.EvalSymlinks(path); err == nil { // some users link such files to another directory
			path = whole
		}
	}
	return replaceFile(path, slices.Concat(f.mark, bytes.ReplaceAll(text, []byte("\n"), []byte(f.ends))), mode)
}

// replaceFile writes a file in one step, so that other programs never read a half-written one.
func replaceFile(path string, text []byte, mode fs.FileMode) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), ".kagami-*")
	if err != nil {
		return err
	}
	_, err = temporary.Write(text)
	err = errors.Join(err, temporary.Chmod(mode), temporary.Close())
	if err == nil {
		err = retryOnWindows(func() error { return os.Rename(temporary.Name(), path) }) // another program may be reading the file
	}
	if err != nil {
		_ = os.Remove(temporary.Name())
	}
	return err
}
