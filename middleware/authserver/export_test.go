package authserver

// What tests of other packages look at.
var (
	ChallengeOf = challengeOf
	FormToken   = tokenOf
	Public      = public
	FreshFor    = freshFor
)
