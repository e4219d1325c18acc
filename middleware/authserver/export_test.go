package authserver

// What tests of other packages look at.
var (
	ChallengeOf = challengeOf
	Public      = public
	FreshFor    = freshFor
)
