package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
}

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
			if event.Op != fsnotify.Chmod && isSource(event.Name) {
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

// isSource reports whether a file may belong to a program. Editors write their own files beside the
// source.
func isSource(path string) bool {
	name := filepath.Base(path)
	return !strings.HasPrefix(name, ".") && !strings.HasSuffix(name, "~") && !strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(name, "#")
}

// follow watches the directories of the package, and of imported packages in the same workspace,
// with their embedded files. It does not watch the module cache. If the package cannot be read, the
// directories of the last call stay watched.
func (w *watcher) follow(ctx context.Context, pkg string) error {
	cmd := exec.CommandContext(ctx, "go", "list", "-e", "-deps", "-json=Dir,Standard,Module,EmbedFiles", pkg)
	if info, err := os.Stat(pkg); err == nil && info.IsDir() {
		cmd.Dir, cmd.Args[len(cmd.Args)-1] = pkg, "."
	}
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("listing the packages: %w", err)
	}
	dirs := map[string]bool{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			Dir        string
			Standard   bool
			EmbedFiles []string
			Module     *struct {
				Main    bool
				GoMod   string
				Dir     string
				Replace *struct{ Version string }
			}
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("listing the packages: %w", err)
		}
		local := p.Module == nil || p.Module.Main || p.Module.Replace != nil && p.Module.Replace.Version == ""
		if p.Standard || p.Dir == "" || !local {
			continue
		}
		dirs[p.Dir] = true
		if p.Module != nil && p.Module.Dir != "" {
			dirs[p.Module.Dir] = true // go.mod
		}
		for _, file := range p.EmbedFiles {
			dirs[filepath.Dir(filepath.Join(p.Dir, file))] = true
		}
	}
	var failed error
	for dir := range dirs {
		failed = errors.Join(failed, w.files.Add(dir))
	}
	return failed
}
