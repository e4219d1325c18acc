package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is the time without changes before a build begins, because editors write a file in several
// steps.
const settle = 80 * time.Millisecond

// watcher reports changes in the source of a package on its channel changed.
type watcher struct {
	files   *fsnotify.Watcher
	changed chan struct{}
	done    chan struct{}

	mu       sync.Mutex      // guards the fields below
	dirs     map[string]bool // watched directories
	exact    map[string]bool // embedded files
	embedded []embedding
}

// embedding is a pattern of go:embed in a package.
type embedding struct{ dir, pattern string }

func watch() (*watcher, error) {
	files, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watching files: %w", err)
	}
	w := &watcher{files: files, changed: make(chan struct{}, 1), done: make(chan struct{})}
	go w.run()
	return w, nil
}

// Close stops the watcher.
func (w *watcher) Close() error {
	err := w.files.Close()
	<-w.done
	return err
}

// run reports changes when the files have not changed for the time settle.
func (w *watcher) run() {
	defer close(w.done)
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	for {
		select {
		case event, open := <-w.files.Events:
			if !open {
				return
			}
			if event.Op != fsnotify.Chmod && (w.isSource(event.Name) || w.isGone(event)) {
				timer.Reset(settle)
			}
		case _, open := <-w.files.Errors:
			if !open {
				return
			}
			timer.Reset(settle) // events were lost
		case <-timer.C:
			select {
			case w.changed <- struct{}{}:
			default: // the last report was not received yet
			}
		}
	}
}

// compiled lists the endings of the files that the go command reads.
var compiled = []string{
	".go", ".mod", ".sum", ".work", ".c", ".cc", ".cpp", ".cxx", ".m", ".h", ".hh", ".hpp", ".hxx", ".f", ".F", ".for", ".f90",
	".s", ".S", ".sx", ".swig", ".swigcxx", ".syso",
}

// isSource reports whether a file belongs to a program: the go command compiles or embeds it. Editors
// write their own files beside the source, and a server may write its log or its data there.
func (w *watcher) isSource(file string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.exact[file] {
		return true
	}
	name := filepath.Base(file)
	if strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "#") {
		return false
	}
	if slices.Contains(compiled, filepath.Ext(name)) {
		return true
	}
	return slices.ContainsFunc(w.embedded, func(e embedding) bool { return e.has(file) })
}

// isGone reports whether a watched directory was removed or moved away. The caller must then wait
// for it to come back.
func (w *watcher) isGone(event fsnotify.Event) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return event.Has(fsnotify.Remove|fsnotify.Rename) && w.dirs[event.Name]
}

// has reports whether the pattern matches the file, or a directory that contains the file.
func (e embedding) has(file string) bool {
	name, err := filepath.Rel(e.dir, file)
	for ; err == nil && filepath.IsLocal(name) && name != "."; name = filepath.Dir(name) {
		if ok, _ := path.Match(e.pattern, filepath.ToSlash(name)); ok { // the go command reports wrong patterns
			return true
		}
	}
	return false
}

// goPackage is a package as "go list" prints it.
type goPackage struct {
	ImportPath, Dir           string
	Standard                  bool
	EmbedFiles, EmbedPatterns []string
	Module                    *struct {
		Path, Dir string
		Main      bool
		Replace   *struct{ Version string }
	}
}

// local reports whether the package is in the workspace, and not in the module cache.
func (p *goPackage) local() bool {
	return !p.Standard && (p.Module == nil || p.Module.Main || p.Module.Replace != nil && p.Module.Replace.Version == "")
}

// places are what a watcher follows.
type places struct {
	dirs     map[string]bool
	exact    map[string]bool // embedded files
	embedded []embedding
	modules  map[string]string // directories of the modules in the workspace, by path
	absent   []string          // paths of packages that were not found
}

func (s *places) add(p *goPackage) {
	if p.Dir == "" {
		s.absent = append(s.absent, p.ImportPath)
		return
	}
	if !p.local() {
		return
	}
	s.dirs[p.Dir] = true
	if p.Module != nil && p.Module.Dir != "" {
		s.dirs[p.Module.Dir] = true // go.mod
		s.modules[p.Module.Path] = p.Module.Dir
	}
	for _, file := range p.EmbedFiles {
		file = filepath.Join(p.Dir, file)
		s.dirs[filepath.Dir(file)], s.exact[file] = true, true
	}
	for _, pattern := range p.EmbedPatterns {
		pattern = strings.TrimPrefix(pattern, "all:")
		s.embedded = append(s.embedded, embedding{p.Dir, pattern})
		for strings.ContainsAny(pattern, `*?[\`) {
			pattern = path.Dir(pattern)
		}
		s.await(filepath.Join(p.Dir, filepath.FromSlash(pattern)))
	}
}

// awaitPackages awaits the directories of packages that are missing in the workspace.
func (s *places) awaitPackages() {
	for _, missing := range s.absent {
		for module, root := range s.modules {
			if rest, inside := strings.CutPrefix(missing, module+"/"); inside {
				s.await(filepath.Join(root, filepath.FromSlash(rest)))
			}
		}
	}
}

// around watches the directory of the package, also if it does not exist yet, and the nearest directories with
// a go.mod and a go.work.
func (s *places) around(pkg string) {
	dir, err := filepath.Abs(pkg)
	if err != nil {
		return // the working directory was removed
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		dir = filepath.Dir(dir)
	}
	s.await(dir)
	for _, name := range []string{"go.mod", "go.work"} {
		for at := dir; ; at = filepath.Dir(at) {
			if _, err := os.Stat(filepath.Join(at, name)); err == nil {
				s.dirs[at] = true
				break
			}
			if at == filepath.Dir(at) {
				break
			}
		}
	}
}

// await watches a directory that the source names. If it does not exist yet, await watches the nearest
// directory above it, and the creation of the next one counts as a change.
func (s *places) await(dir string) {
	for {
		if info, err := os.Stat(dir); err == nil {
			if info.IsDir() {
				s.dirs[dir] = true
			}
			return // the directory of an embedded file is watched already
		}
		above := filepath.Dir(dir)
		if above == dir {
			return
		}
		s.embedded = append(s.embedded, embedding{above, filepath.Base(dir)})
		dir = above
	}
}

// follow watches the directories of the package, and of imported packages in the same workspace,
// with their embedded files, also of packages and files that do not exist yet. It does not watch the
// module cache. If the go command cannot read the package, the directories of earlier calls stay watched, and
// those around the package are, so that a change that mends it is seen.
func (w *watcher) follow(ctx context.Context, pkg string) error {
	cmd := exec.CommandContext(ctx, "go", "list", "-e", "-deps", "-json=ImportPath,Dir,Standard,Module,EmbedFiles,EmbedPatterns", pkg)
	if info, err := os.Stat(pkg); err == nil && info.IsDir() {
		cmd.Dir, cmd.Args[len(cmd.Args)-1] = pkg, "."
	}
	out, err := cmd.Output()
	found := places{dirs: map[string]bool{}, exact: map[string]bool{}, modules: map[string]string{}}
	found.around(pkg)
	if wraps[*exec.ExitError](err) && ctx.Err() == nil {
		found.keep(w) // the build reports what is wrong with go.mod or go.work
		return w.add(&found)
	}
	if err != nil {
		return fmt.Errorf("listing the packages: %w", err)
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("listing the packages: %w", err)
		}
		found.add(&p)
	}
	found.awaitPackages()
	return w.add(&found)
}

// keep takes over what the watcher knows from an earlier call.
func (s *places) keep(w *watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.Copy(s.exact, w.exact)
	for _, e := range w.embedded {
		if !slices.Contains(s.embedded, e) {
			s.embedded = append(s.embedded, e)
		}
	}
}

// add watches the directories that were found. The directories of earlier calls stay watched.
func (w *watcher) add(found *places) error {
	w.mu.Lock()
	w.dirs, w.embedded, w.exact = found.dirs, found.embedded, found.exact
	w.mu.Unlock()
	var failed error
	for dir := range found.dirs {
		failed = errors.Join(failed, w.files.Add(dir))
	}
	return failed
}
