package boltstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// Names of the buckets of sessions, claims, and the description of the file.
const (
	sessionsName = "sessions"
	claimsName   = "claims"
	aboutName    = "about"
)

// format is the number of the file format. A change of what the buckets contain requires a higher
// number, and an upgrade of the older formats.
const format = 4

// Keys of the bucket that describes the file.
const (
	formatKey = "format"
	kindKey   = "kind"
	bootKey   = "events of boot" // see openEvents
)

// kind is the purpose of a file. It has the name, the buckets in addition to about and counts, and
// the function that upgrades a file of an older format.
type kind struct {
	name    string
	buckets []string
	upgrade func(t *txn)
}

func mainKind() kind {
	return kind{"main", []string{
		sessionsName, sessionsName + ".ends", claimsName, claimsName + ".ends",
		tasksName, endsName, ownersName, overName, sharesName, ranksName, openName, takenName, goneName, tracesName,
	}, upgradeTasks}
}

func eventsKind() kind {
	return kind{"events", []string{streamsName, keptName, emptiedName, framesName}, upgradeEvents}
}

// openFile opens or creates a file that no other process has open, and checks it.
//
// The caller owns the file and closes it. After an error the file is closed and unlocked. inspect
// opens the file on its own and closes it again, so another process may take the lock in between;
// openBolt then returns ErrInUse.
func openFile(path string, of kind, wait time.Duration, syncing bool) (*file, error) {
	fresh, err := inspect(path, of, wait)
	if err != nil {
		return nil, err
	}
	db, err := openBolt(path, &bbolt.Options{
		Timeout: wait, NoSync: !syncing, FreelistType: bbolt.FreelistMapType, NoStatistics: true,
		// NoFreelistSync stays off: with it bbolt finds free pages by walking through the file
		// in a goroutine, where a damaged page would end the process.
	})
	if err != nil {
		if fresh && !errors.Is(err, ErrInUse) {
			unmake(path)
		}
		return nil, err
	}
	f := &file{db: db}
	err = f.write(func(t *txn) error { return f.prepare(t, of) })
	if err == nil && fresh {
		err = syncDir(path)
	}
	if err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

// firstPages is the number of pages that bbolt writes at once into a new file.
const firstPages = 4

// unmake truncates a new file if the disk had no space for its first pages. Otherwise the next Open
// would take it for a store that has lost its end.
func unmake(path string) {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() < firstPages*int64(os.Getpagesize()) {
		_ = os.Truncate(path, 0) // the error that matters is the disk's
	}
}

// openBolt opens a file. If bbolt panics because of the content, openBolt returns an error and the
// file does not stay locked.
//
// SetPanicOnFault applies to the calling goroutine, and is restored at the end.
func openBolt(path string, options *bbolt.Options) (db *bbolt.DB, err error) {
	var opened *os.File
	options.OpenFile = func(name string, flag int, mode os.FileMode) (*os.File, error) {
		f, err := os.OpenFile(name, flag, mode)
		opened = f
		return f, err
	}
	// bbolt maps the file. If the end of the file is missing, reading there is a memory fault.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			db, err = nil, fmt.Errorf("%w: %s: %v", ErrDamaged, path, r)
			if opened != nil {
				_ = opened.Close()
			}
		}
	}()
	db, err = bbolt.Open(path, 0o600, options)
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("%w: %s, waited %v", ErrInUse, path, options.Timeout)
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum), errors.Is(err, bolterrors.ErrVersionMismatch):
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, path, err)
	case err != nil:
		return nil, fmt.Errorf("boltstore: opening: %w", err)
	}
	return db, nil
}

// inspect reads the whole file, and reports whether it is new. Otherwise a damaged page would be
// found in the middle of an operation, or in a goroutine of bbolt, where no recover helps.
func inspect(path string, of kind, wait time.Duration) (fresh bool, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("boltstore: opening: %w", err)
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("boltstore: opening %s: it is not a file", path)
	case info.Size() == 0:
		return true, nil
	case info.Size() < 2*int64(os.Getpagesize()): // a bbolt file begins with two meta pages
		return false, fmt.Errorf("%w: %s has %d bytes", ErrDamaged, path, info.Size())
	}
	db, err := openBolt(path, &bbolt.Options{Timeout: wait, ReadOnly: true, PreLoadFreelist: true, NoStatistics: true})
	if err != nil {
		return false, err
	}
	err = examine(db, of, info.Size())
	if err := errors.Join(err, db.Close()); err != nil {
		return false, fmt.Errorf("%w (%s)", err, path)
	}
	return false, nil
}

// examine reads each key and each value, and then has bbolt check the pages. bbolt does that in a
// goroutine that survives a panic, but not a memory fault.
func examine(db *bbolt.DB, of kind, size int64) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, r)
		}
	}()
	var known error
	left := size // more keys than bytes means that pages refer to each other in a circle
	err = db.View(func(tx *bbolt.Tx) error {
		if tx.Size() > size {
			return errors.New("its end is missing")
		}
		if known = of.check(tx); known != nil {
			return known
		}
		if err := tx.ForEach(func(_ []byte, b *bbolt.Bucket) error { return touch(b, &left) }); err != nil {
			return err
		}
		return checkPages(tx)
	})
	if err != nil && known == nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return known
}

// touch reads each key and value of b and of the buckets in it.
func touch(b *bbolt.Bucket, left *int64) error {
	return b.ForEach(func(k, v []byte) error {
		if *left--; *left < 0 {
			return errors.New("its pages form a cycle")
		}
		if v == nil {
			if inner := b.Bucket(k); inner != nil {
				return touch(inner, left)
			}
		}
		if len(v) > 0 {
			_ = v[len(v)-1]
		}
		return nil
	})
}

// checkPages returns the first fault. It must also receive the others, because bbolt's goroutine
// sends them.
func checkPages(tx *bbolt.Tx) (first error) {
	for err := range tx.Check() {
		if first == nil {
			first = err
		}
	}
	return first
}

// check returns an error if the file was written by another program, is of another kind, or has a
// newer format. An empty file is accepted.
func (k kind) check(tx *bbolt.Tx) error {
	if first, _ := tx.Cursor().First(); first == nil {
		return nil
	}
	about := tx.Bucket([]byte(aboutName))
	if about == nil || len(about.Get([]byte(formatKey))) != 1 {
		return errors.New("boltstore: the file belongs to another program")
	}
	if number := about.Get([]byte(formatKey))[0]; number > format {
		return fmt.Errorf("%w: got %d, this program reads up to %d", ErrNewer, number, format)
	}
	if name := string(about.Get([]byte(kindKey))); name != k.name {
		return fmt.Errorf("boltstore: the file has kind %q, want %q", name, k.name)
	}
	return nil
}

// prepare creates missing buckets, and upgrades a file of an older format.
func (f *file) prepare(t *txn, of kind) error {
	there := t.tx.Bucket([]byte(aboutName)) != nil
	if there && t.bucket(aboutName).get([]byte(formatKey))[0] == format {
		return nil
	}
	t.wrote = true
	for _, name := range append([]string{aboutName, countsName}, of.buckets...) {
		_, err := t.tx.CreateBucketIfNotExists([]byte(name))
		t.check(err)
	}
	if there {
		of.upgrade(t)
	}
	about := t.bucket(aboutName)
	about.put([]byte(formatKey), []byte{format})
	about.put([]byte(kindKey), []byte(of.name))
	return nil
}

// syncDir makes the name of a new file as durable as its content. On systems that cannot sync
// directories, the system does that itself.
func syncDir(path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("boltstore: opening the directory: %w", err)
	}
	_ = dir.Sync()
	return dir.Close()
}
