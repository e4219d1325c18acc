package redisstore

// The functions below return names of keys. A record has one key, or several keys with one hash
// tag, which determines its slot in a Cluster. A name is always the last part, or followed by a
// text of known length. Therefore two names never make the same key.

func (s *Store) sessionKey(id string) string { return s.prefix + "s:" + id }

func (s *Store) claimKey(name string) string { return s.prefix + "c:" + name }

func (s *Store) counterKey(name string) string { return s.prefix + "n:" + name }

// streamKeys returns the keys of the frames and of the number. The tag is never empty, even if the
// name begins with a brace.
func (s *Store) streamKeys(name string) []string {
	base := s.prefix + "e:{e" + name + "}"
	return []string{base + "f", base + "n"}
}

func (s *Store) channel() string { return s.prefix + "b" }

// taskBase returns the beginning of all keys of tasks, including the hash tag. The tag contains the
// prefix, so that programs on one Cluster have their tasks in different slots.
func (s *Store) taskBase() string { return s.prefix + "{t" + s.prefix + "}:" }

func (s *Store) recordKey(id string) string { return s.taskBase() + "r:" + id }

// ownerKey returns the key of the index of an owner's tasks in the order of creation.
func (s *Store) ownerKey(owner string) string { return s.taskBase() + "o:" + owner }

// liveKey returns the key of the index of an owner's tasks that have not ended, by expiry.
func (s *Store) liveKey(owner string) string { return s.taskBase() + "l:" + owner }

func (s *Store) lineKey() string { return s.taskBase() + "q" }
