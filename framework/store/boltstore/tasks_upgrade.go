package boltstore

// upgradeTasks counts all tasks of an older file again, and sorts the terminal ones by owner.
// Format 1 had one order for all owners. Formats before 3 did not count the size of tasks that are
// not terminal.
func upgradeTasks(t *txn) {
	for _, name := range []string{overName, sharesName, ranksName, openName} {
		t.empty(name)
	}
	x := tasksIn(t, taskBounds{})
	was := x.counts
	x.counts = counts{rows: was.rows, bytes: was.goneSize, gone: was.gone, goneSize: was.goneSize}
	c := x.rows.b.Cursor()
	for key, row := c.First(); key != nil; key, row = c.Next() {
		k := openTaskEntry(string(key[1:]), row)
		if k.state == stateOver {
			x.over.put(ownerKey(k.owner, k.over), taskKey(k.id))
		}
		x.count(k, 1)
	}
	t.setCounts(tasksName, x.counts, was)
}
