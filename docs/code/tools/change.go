package main

import (
	"cmp"
	"context"
)

// LookupIn has a member words that was named query before.
type LookupIn struct {
	Words string `json:"words,omitempty" doc:"what to look for" validate:"required_without=Query"`
	Query string `json:"query,omitempty" doc:"Deprecated: use words." validate:"excluded_with=Words"`
}

// Lookup accepts both names.
func Lookup(_ context.Context, in LookupIn) (string, error) {
	return "You look for " + cmp.Or(in.Words, in.Query) + ".", nil
}
