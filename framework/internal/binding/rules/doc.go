// Package rules gives the validate tags their meaning. go-playground/validator judges values. This package reads
// a tag, refuses what can never work, and says what the rest demands: as keywords of JSON Schema where there are
// some, and as sentences otherwise.
//
//   - [Compiler.Read] reads one tag into [Constraints], one level for the value, its keys and its elements;
//   - lint*.go refuse rules that do not work on a type, or that no value passes;
//   - conflicts.go refuses rules that exclude each other;
//   - rule_schema.go and sentences.go say what a rule demands;
//   - tag.go writes the tag that validator gets, in which required is left out, because presence is checked on
//     the JSON text;
//   - fastcheck*.go compile rules into a [FastCheck] that accepts most valid values without validator.
//
// The package sees no plan: a [Value] describes the values that a rule is about.
package rules
