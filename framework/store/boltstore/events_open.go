package boltstore

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
)

// openEvents opens the file of the events. The file is not synced by default, because a synced
// commit per event would be too slow. Such a file survives the end of the process, but not the end
// of the machine. Pages that others refer to may then be missing, or the events of an hour. The
// numbers of lost events would be given to new events, although clients have seen them.
//
// Therefore the main file, which is synced, contains a mark with the boot ID of the machine while
// events may not be on the disk. If the machine has restarted since the mark was set, the events
// are deleted. Clients that resume a stream then receive eventlog.ErrExpired.
//
// The mark is written before the file is opened, and removed only after a sync. Whatever happens in
// between, the next Open finds it.
func openEvents(main *file, path string, set *settings) (*file, error) {
	boot := bootID()
	survived, err := main.mark()
	if err != nil {
		return nil, err
	}
	if survived != nil && !sameBoot(survived, boot) {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("boltstore: deleting the events: %w", err)
		}
	}
	if err := main.setMark(boot); err != nil {
		return nil, err
	}
	f, err := openFile(path, eventsKind(), set.lockWait, set.syncing)
	if errors.Is(err, ErrDamaged) { // events are not worth a server that does not start
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("boltstore: deleting the events: %w", err)
		}
		f, err = openFile(path, eventsKind(), set.lockWait, set.syncing)
	}
	if err != nil {
		return nil, err
	}
	if set.syncing {
		if err := f.settle(main); err != nil {
			return nil, errors.Join(err, f.close())
		}
	}
	return f, nil
}

// closeEvents closes the file of the events after a sync, which makes the events as durable as all
// other data.
//
// The main file must still be open. It waits for writers of events, so no event is written between
// the sync and the close.
func closeEvents(main, events *file) error {
	events.fail(ErrClosed)
	events.writers.Wait()
	return errors.Join(events.settle(main), events.close())
}

// settle syncs the events and then removes the mark from the main file.
//
// Nothing may write events meanwhile, unless they are synced.
func (f *file) settle(main *file) error {
	if err := f.db.Sync(); err != nil {
		return fmt.Errorf("boltstore: syncing the events: %w", err)
	}
	return main.setMark(nil)
}

// mark returns the ID of the boot that wrote events which may not be on the disk. If there are no
// such events, it returns nil.
func (f *file) mark() (boot []byte, err error) {
	err = f.view(func(t *txn) error {
		boot = bytes.Clone(t.bucket(aboutName).get([]byte(bootKey)))
		return nil
	})
	return boot, err
}

// setMark sets the mark. If boot is nil, it removes the mark.
//
// It returns after the mark is on the disk.
func (f *file) setMark(boot []byte) error {
	return f.write(func(t *txn) error {
		about := t.bucket(aboutName)
		switch was := about.get([]byte(bootKey)); {
		case boot != nil && (was == nil || !bytes.Equal(was, boot)):
			about.put([]byte(bootKey), boot)
		case boot == nil && was != nil:
			about.remove([]byte(bootKey))
		}
		return nil
	})
}

// sameBoot reports whether two boot IDs are known and equal, so that the machine has not restarted.
func sameBoot(was, now []byte) bool {
	return string(now) != unknownBoot && bytes.Equal(was, now)
}

// unknownBoot is the boot ID on systems that have none. It never equals another boot.
const unknownBoot = "?"

// bootID returns an ID that changes each time the machine starts.
func bootID() []byte {
	id, err := readBoot()
	if id = strings.TrimSpace(id); err != nil || id == "" {
		return []byte(unknownBoot)
	}
	return []byte(id)
}
