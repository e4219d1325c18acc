// Command warned is a server with warnings of Build, for the tests of kagami.
package main

import (
	"context"
	"database/sql"
	"mime/multipart"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
)

// Color has constants that no schema lists, because it has no method Values.
type Color string

// The colors.
const (
	Red   Color = "red"
	Green Color = "green"
)

// Code is a text without constants.
type Code string

type paint struct {
	Color  Color          `json:"color" doc:"Color of the coat."`
	Colors []Color        `json:"colors" validate:"dive,oneof=red green"`
	Code   Code           `json:"code"`
	Note   sql.NullString `json:"note" descriptiom:"Why."`
	Coats  int            `json:"coats" minimum:"1"`

	Photo *multipart.FileHeader `json:"photo,omitempty"`
}

func main() {
	serve.Main(framework.New("warned", "1").Add(framework.Tool("paint", func(context.Context, paint) (string, error) {
		return "Painted.", nil
	}, framework.Describe("Paint a wall."))))
}
