package protocol

// Revision is one published revision of the specification, identified by its date. Revisions have
// no order on purpose. Code that depends on a feature of a revision asks the revision's dialect for
// a trait.
type Revision struct{ date string }

// The five published revisions.
var (
	Rev20241105 = Revision{"2024-11-05"}
	Rev20250326 = Revision{"2025-03-26"}
	Rev20250618 = Revision{"2025-06-18"}
	Rev20251125 = Revision{"2025-11-25"}
	Rev20260728 = Revision{"2026-07-28"}
)

// Revisions returns all published revisions, oldest first.
func Revisions() []Revision {
	return []Revision{Rev20241105, Rev20250326, Rev20250618, Rev20251125, Rev20260728}
}

// ParseRevision returns the revision with the given date. It returns false if there is no such
// revision.
func ParseRevision(date string) (Revision, bool) {
	for _, r := range Revisions() {
		if r.date == date {
			return r, true
		}
	}
	return Revision{}, false
}

// String returns the date in its wire form, or "" for the zero Revision.
func (r Revision) String() string { return r.date }

// IsZero reports whether r is the zero Revision.
func (r Revision) IsZero() bool { return r.date == "" }
