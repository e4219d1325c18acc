package boltstore

import (
	"bytes"
	"errors"
	"fmt"
	"os"
)

// openEvents opens the file of the events. It is not synced (a commit that is costs what
// the disk takes, for each event of each stream), which a file of bbolt's survives if
// the process ends, but not if the machine does: pages may be missing that others rely
// on, or all of an hour, after which numbers would be given again that clients have seen.
// So the main file, which is synced, says from when on the events are in danger; if
// that was before the machine began to run, they are given up. Clients are told that
// what they ask for has expired.
func openEvents(main *file, path string, set *settings) (*file, error) {
	boot := bootID()
	survived, err := main.mark()
	if err != nil {
		return nil, err
	}
	if survived != nil && (string(boot) == unknownBoot || !bytes.Equal(survived, boot)) {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("boltstore: giving up events: %w", err)
		}
	}
	if err := main.setMark(boot); err != nil {
		return nil, err
	}
	f, err := openFile(path, eventsKind(), set.lockWait, set.syncing)
	if errors.Is(err, ErrDamaged) { // they are not worth a server that does not start
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("boltstore: giving up events: %w", err)
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

// closeEvents leaves the events as safe as all the rest.
func closeEvents(main, events *file) error {
	events.fail(ErrClosed)
	events.writers.Wait()
	return errors.Join(events.settle(main), events.close())
}

// settle syncs the events, and says so.
func (f *file) settle(main *file) error {
	if err := f.db.Sync(); err != nil {
		return fmt.Errorf("boltstore: syncing the events: %w", err)
	}
	return main.setMark(nil)
}

// mark is the boot in which events were written that may not be on the disk; nil: none.
func (f *file) mark() (boot []byte, err error) {
	err = f.view(func(t *txn) error {
		boot = bytes.Clone(t.bucket(aboutName).get([]byte(bootKey)))
		return nil
	})
	return boot, err
}

// setMark takes it away if it is nil.
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

// unknownBoot is that of a system that does not tell: it is never the same.
const unknownBoot = "?"

// bootID is another one whenever the machine begins to run.
func bootID() []byte {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id") // Linux
	if id = bytes.TrimSpace(id); err != nil || len(id) == 0 {
		return []byte(unknownBoot)
	}
	return id
}
