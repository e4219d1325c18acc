package redisstore

// Names of keys. What is one record has one key, or keys with one hash tag: that is
// what decides where it is in a Cluster. A name is always the last part, or followed by
// a text of a length that is known, so that no two names make one key.

func (s *Store) sessionKey(id string) string { return s.prefix + "s:" + id }

func (s *Store) claimKey(name string) string { return s.prefix + "c:" + name }

func (s *Store) counterKey(name string) string { return s.prefix + "n:" + name }

// streamKeys are those of the frames and of the number. The tag is not empty, whatever
// the name begins with.
func (s *Store) streamKeys(name string) []string {
	base := s.prefix + "e:{e" + name + "}"
	return []string{base + "f", base + "n"}
}

func (s *Store) channel() string { return s.prefix + "b" }

// taskBase begins all keys of tasks, the tag included. The prefix is in the tag, so that
// not all programs on a Cluster have their tasks in one slot.
func (s *Store) taskBase() string { return s.prefix + "{t" + s.prefix + "}:" }

func (s *Store) recordKey(id string) string { return s.taskBase() + "r:" + id }

// ownerKey is the index of an owner's tasks in the order of creation.
func (s *Store) ownerKey(owner string) string { return s.taskBase() + "o:" + owner }

// liveKey is the index of an owner's tasks that have not ended, by expiry.
func (s *Store) liveKey(owner string) string { return s.taskBase() + "l:" + owner }

func (s *Store) lineKey() string { return s.taskBase() + "q" }
