// Package bindingtest has types and texts for the tests of binding and of the packages below it.
package bindingtest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// StructWith returns a struct type with one field, V, of type t, and its tag.
func StructWith(t reflect.Type, tag string) reflect.Type {
	return reflect.StructOf([]reflect.StructField{{Name: "V", Type: t, Tag: reflect.StructTag(`json:"v" ` + tag)}})
}

// QuoteTag returns one pair of a struct tag.
func QuoteTag(key, value string) string { return fmt.Sprintf("%s:%q", key, value) }

// Texts are sent to every rule for texts.
var Texts = []string{
	"", "a", "A", "ab", "abc", "abcd", "abcde", "é", "éé", "日本", "😀", "1", "12", "-1", "+1", "1.5", "1.", ".5", "0x1F", "FF", "g",
	"a b", " a", "a.b", "a-b", "a_b", "x", "yx", "no", "yes", "in progress", "true", "TRUE", "t", "0", "#fff", "#ffff", "#ff", "#GGGGGG",
	"2026-01-31", "2026-02-30", "2026-1-1", "123e4567-e89b-42d3-a456-426614174000", "123E4567-E89B-42D3-A456-426614174000",
	"123e4567-e89b-12d3-a456-426614174000", "127.0.0.1", "256.1.1.1", "::1", "2001:db8::1", "1.2.3", "1.2.3-rc.1+b", "01.2.3", "v1.2.3",
	"+4930123456", "004930", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "01arz3ndektsv4rrffq69g5fav", "d41d8cd98f00b204e9800998ecf8427e",
	"\u0000", "\u007f", "\t", "~", "12-3456789", strings.Repeat("0a", 32),
	"123e4567-e89b-32d3-a456-426614174000", "123e4567-e89b-52d3-a456-426614174000", "018e4567-e89b-72d3-a456-426614174000", "507f1f77bcf86cd799439011", "a.b-", "a.bx", "[", "]^", "\\", "$", "|", "/",
}

// JSONTexts returns the texts as JSON, and some values of other kinds.
func JSONTexts(texts []string) []string {
	var out []string
	for _, s := range texts {
		raw, _ := json.Marshal(s)
		out = append(out, string(raw))
	}
	return append(out, "null", "1", "[]")
}

// Search is the ten-field nested input that the peers are measured with.
type Search struct {
	Query   string   `json:"query" validate:"min=2,max=200"`
	Limit   int      `json:"limit" validate:"min=1,max=100"`
	Offset  int      `json:"offset" validate:"min=0"`
	Sort    string   `json:"sort" validate:"oneof=relevance date name"`
	Desc    bool     `json:"desc"`
	Tags    []string `json:"tags" validate:"max=10,dive,min=1"`
	Lang    string   `json:"lang" validate:"len=2"`
	Score   float64  `json:"score" validate:"min=0,max=1"`
	Filter  Filter   `json:"filter"`
	Comment *string  `json:"comment,omitempty" validate:"omitempty,max=100"`
}

// Filter is a part of Search.
type Filter struct {
	From    string   `json:"from" validate:"min=1"`
	To      string   `json:"to" validate:"min=1"`
	Price   Range    `json:"price"`
	Authors []string `json:"authors" validate:"max=5"`
}

// Range is a part of Filter.
type Range struct {
	Min float64 `json:"min" validate:"min=0"`
	Max float64 `json:"max" validate:"min=0"`
}

// SearchCall is a call with a Search.
const SearchCall = `{"query":"red shoes","limit":20,"offset":40,"sort":"date","desc":true,"tags":["a","bb","ccc"],"lang":"en","score":0.75,` +
	`"filter":{"from":"2026-01-01","to":"2026-02-01","price":{"min":1.5,"max":99.9},"authors":["x","y"]},"comment":"none"}`
