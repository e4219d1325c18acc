package authserver

import (
	"time"

	"github.com/kagami-mcp/kagami/middleware/internal/proof"
)

// What tests of other packages look at.
var (
	ChallengeOf = proof.Digest
	FormToken   = tokenOf
	Public      = public
	FreshFor    = freshFor
)

// MaxVisits is the bound of open visits.
const MaxVisits = maxVisits

// Visits are open visits, with a clock in seconds that begins at 5.
type Visits struct {
	open openVisits
	now  int64
}

func NewVisits() *Visits { return &Visits{now: 5} }

func (v *Visits) Add(who, id string, until int64) string {
	return v.open.add(who, id, time.Unix(until, 0), time.Unix(v.now, 0))
}

func (v *Visits) Later(now int64) { v.now = now }
