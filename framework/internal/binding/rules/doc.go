// Package rules gives the validate tags their meaning. go-playground/validator judges values. This package reads
// a tag, refuses rules that can never work, and describes the others: with keywords of JSON Schema if there are
// any, and with sentences otherwise.
//
//   - [Compiler.Read] reads one tag into [Constraints], one level for the value, its keys and its elements;
//   - lint*.go refuse rules that do not work on a type, or that no value passes;
//   - conflicts.go refuses rules that exclude each other;
//   - rule_schema.go and sentences.go describe what a rule demands;
//   - tag.go writes the tag for validator. It leaves required out, because presence is checked on the JSON text;
//   - fastcheck*.go compile rules into a [FastCheck] that accepts most valid values without validator.
//
// The package does not depend on package plan: a [Value] describes the values that a rule applies to.
package rules
