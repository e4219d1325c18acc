package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

	mu       sync.Mutex // guards embedded
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
			if event.Op != fsnotify.Chmod && w.isSource(event.Name) {
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
	name := filepath.Base(file)
	if strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "#") {
		return false
	}
	if slices.Contains(compiled, filepath.Ext(name)) {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.embedded, func(e embedding) bool { return e.has(file) })
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
		s.dirs[filepath.Dir(filepath.Join(p.Dir, file))] = true
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
// module cache. If the package cannot be read, the directories of the last call stay watched.
func (w *watcher) follow(ctx context.Context, pkg string) error {
	cmd := exec.CommandContext(ctx, "go", "list", "-e", "-deps", "-json=ImportPath,Dir,Standard,Module,EmbedFiles,EmbedPatterns", pkg)
	if info, err := os.Stat(pkg); err == nil && info.IsDir() {
		cmd.Dir, cmd.Args[len(cmd.Args)-1] = pkg, "."
	}
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("listing the packages: %w", err)
	}
	found := places{dirs: map[string]bool{}, modules: map[string]string{}}
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
	w.mu.Lock()
	w.embedded = found.embedded
	w.mu.Unlock()
	var failed error
	for dir := range found.dirs {
		failed = errors.Join(failed, w.files.Add(dir))
	}
	return failed
}
