package oauth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// File returns a store that keeps each record in a file of its own. Only the user can read the
// files (mode 0600, in a directory of 0700). They are written to a new file and renamed. Wider
// permissions, another owner or a link instead of a file are errors; File does not correct them.
//
// On Windows the files inherit the access list of their directory, and File does not check it. On
// Windows, therefore, keep dir inside the user's profile.
//
// If dir is empty, the directory is $KAGAMI_AUTH_DIR or else "kagami/auth" in os.UserConfigDir.
//
// Any program that runs as this user can read the files. If that is not acceptable, use Helper.
func File(dir string) Store { return &files{dir: dir} }

// files has a file for each record, named by a digest of its key. Two empty files may exist beside
// it. The one ending in ".lock" is locked while the record changes, because the record's own file
// is replaced. The one ending in ".turn" is locked during a renewal (Lock). The operating
// system keeps the locks, so they end with the process.
type files struct{ dir string }

// storedRecord is the content of a file.
type storedRecord struct {
	V       int             `json:"v"`
	Key     Key             `json:"key"`
	Version uint64          `json:"version"`
	Data    json.RawMessage `json:"data"`
}

const (
	formatVersion = 1
	maxRecord     = 1 << 20
)

// place returns the path of a record's file without its ending. It creates the directory.
func (f *files) place(k Key) (string, error) {
	dir, err := f.directory()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, digest(k)), nil
}

func digest(k Key) string {
	text, _ := json.Marshal([]string{string(k.Kind), k.Issuer, k.Resource, k.Profile}) // strings always marshal
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

func (f *files) directory() (string, error) {
	dir := cmp.Or(f.dir, os.Getenv("KAGAMI_AUTH_DIR"))
	if dir == "" {
		config, err := os.UserConfigDir()
		if err != nil {
			return "", because(ErrStore, err)
		}
		dir = filepath.Join(config, "kagami", "auth")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", because(ErrStore, err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", because(ErrStore, err)
	}
	if !info.IsDir() {
		return "", because(ErrStore, fmt.Errorf("%s is not a directory", dir))
	}
	return dir, private(dir, info)
}

// Get reads a file.
func (f *files) Get(ctx context.Context, k Key) (Record, error) {
	place, err := f.place(k)
	if err != nil {
		return Record{}, err
	}
	if err := ctx.Err(); err != nil {
		return Record{}, err
	}
	r, err := readRecord(place + ".json")
	if err == nil && r.Key != k {
		err = because(ErrStore, fmt.Errorf("%s.json contains another key's record", place))
	}
	return r, err
}

// readPrivate reads a file that only this user can read.
func readPrivate(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	if err := private(path, info); err != nil {
		return nil, err
	}
	var file *os.File
	err = retryWhileBusy(busy, func() (err error) {
		file, err = os.Open(path)
		return err
	})
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, maxRecord+1))
}

// readRecord reads a file. If a newer version has written it, readRecord returns the key with the
// error.
func readRecord(path string) (Record, error) {
	text, err := readPrivate(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, ErrNotFound
	}
	if err != nil {
		return Record{}, because(ErrStore, err)
	}
	var s storedRecord
	err = json.Unmarshal(text, &s)
	switch {
	case s.V > formatVersion: // also if other members have types that this version does not know
		return Record{Key: s.Key}, because(ErrStore, fmt.Errorf("%s was written by a newer version of this program (format %d)", path, s.V))
	case err != nil:
		return Record{}, because(ErrStore, fmt.Errorf("%s: %w", path, err))
	case s.V != formatVersion:
		return Record{}, because(ErrStore, fmt.Errorf("%s does not contain a record", path))
	}
	return Record{Key: s.Key, Version: s.Version, Data: s.Data}, nil
}

// Put writes a new file and renames it.
func (f *files) Put(ctx context.Context, r Record) (version uint64, err error) {
	err = f.change(ctx, r.Key, func(path string, stored uint64) error {
		if stored != r.Version {
			return ErrConflict
		}
		text, err := json.Marshal(storedRecord{V: formatVersion, Key: r.Key, Version: r.Version + 1, Data: r.Data})
		if err != nil {
			return because(ErrStore, err)
		}
		if len(text) > maxRecord {
			return because(ErrStore, fmt.Errorf("a record has %d bytes, at most %d are kept", len(text), maxRecord))
		}
		return replace(path, text)
	})
	if err != nil {
		return 0, err
	}
	return r.Version + 1, nil
}

// Delete removes a file.
func (f *files) Delete(ctx context.Context, k Key, version uint64) error {
	return f.change(ctx, k, func(path string, stored uint64) error {
		if stored == 0 {
			return nil
		}
		if stored != version {
			return ErrConflict
		}
		_ = os.Remove(path + ".new") // left by a process that was killed
		return because(ErrStore, retryWhileBusy(busy, func() error { return os.Remove(path) }))
	})
}

// change calls fn with the path of a record and its version, while no other process changes the
// record. If the record does not exist, the version is 0.
func (f *files) change(ctx context.Context, k Key, fn func(path string, stored uint64) error) error {
	place, err := f.place(k)
	if err != nil {
		return err
	}
	unlock, err := lockFile(ctx, place+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	stored, err := readRecord(place + ".json")
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	return fn(place+".json", stored.Version)
}

// replace writes a file so that a complete one exists at all times, even if the machine stops.
func replace(path string, text []byte) error {
	file, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) // the caller holds the lock, so the name is free
	if err != nil {
		return because(ErrStore, err)
	}
	_, err = file.Write(text)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = retryWhileBusy(busy, func() error { return os.Rename(file.Name(), path) })
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	return because(ErrStore, err)
}

// patience is how long retryWhileBusy tries. Other processes have a file open for moments only.
const patience = 2 * time.Second

// retryWhileBusy calls do. While do fails because the file is busy, retryWhileBusy calls it again, for patience.
func retryWhileBusy(busy func(error) bool, do func() error) error {
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		err := do()
		if err == nil || !busy(err) || time.Now().After(end) {
			return err
		}
	}
}

// partialError is the error of a List that returns the other keys.
type partialError struct{ error }

func (e partialError) Unwrap() error { return e.error }

// List reads the keys of all files. If it cannot read the key in a file, it returns the other keys
// and a partialError. That file may belong to a server that the caller does not need.
func (f *files) List(ctx context.Context) ([]Key, error) {
	dir, err := f.directory()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, because(ErrStore, err)
	}
	var keys []Key
	var failed error
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".json") {
			continue
		}
		r, err := readRecord(filepath.Join(dir, entry.Name()))
		switch {
		case err == nil, r.Key != (Key{}): // Get returns the error, but only for this key
			keys = append(keys, r.Key)
		case !errors.Is(err, ErrNotFound): // a file that is not found was removed in the meantime
			failed = errors.Join(failed, err)
		}
	}
	slices.SortFunc(keys, Key.compare)
	if failed != nil {
		return keys, partialError{failed}
	}
	return keys, ctx.Err()
}

// Lock locks a file that change does not lock.
func (f *files) Lock(ctx context.Context, k Key) (func(), error) {
	place, err := f.place(k)
	if err != nil {
		return nil, err
	}
	return lockFile(ctx, place+".turn")
}

// lockFile tries to lock a file until ctx ends. It polls, because the operating system's own
// waiting cannot be canceled.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, because(ErrStore, err)
	}
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		locked, err := tryLock(file)
		if err != nil {
			_ = file.Close()
			return nil, because(ErrStore, fmt.Errorf("locking %s: %w", path, err))
		}
		if locked {
			return func() { _ = file.Close() }, nil // closing also ends the lock
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			_ = file.Close()
			return nil, ctx.Err()
		}
	}
}
