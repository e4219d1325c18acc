package binding_test

import (
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

// TestContradictions checks that rules that no value meets are faults at Build, instead of tools that can
// never be called.
func TestContradictions(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		in   any
		want string // empty: no fault
	}{
		"text": {struct {
			V string `json:"v" validate:"min=5,max=3"`
		}{}, "at least 5 characters and at most 3"},
		"text exact": {struct {
			V string `json:"v" validate:"min=5,max=5"`
		}{}, ""},
		"number": {struct {
			V int `json:"v" validate:"gte=5,lte=3"`
		}{}, "at least 5 and at most 3"},
		"whole number": {struct {
			V int `json:"v" validate:"gt=5,lt=6"`
		}{}, "at least 6 and at most 5"},
		"real number": {struct {
			V float64 `json:"v" validate:"gt=5,lt=6"`
		}{}, ""},
		"whole with room": {struct {
			V int `json:"v" validate:"gt=5,lt=7"`
		}{}, ""},
		"small type": {struct {
			V uint8 `json:"v" validate:"min=300"`
		}{}, "at least 300 and at most 255"},
		"list": {struct {
			V []int `json:"v" validate:"min=3,max=1"`
		}{}, "at least 3 items and at most 1"},
		"map": {struct {
			V map[string]int `json:"v" validate:"min=3,max=1"`
		}{}, "at least 3 members and at most 1"},
		"element": {struct {
			V []string `json:"v" validate:"dive,min=3,max=1"`
		}{}, "of an element, at least 3 characters"},
		"enum out of them": {struct {
			V int `json:"v" validate:"oneof=1 2,min=5"`
		}{}, "none of the allowed values"},
		"enum in part": {struct {
			V int `json:"v" validate:"oneof=1 7,min=5"`
		}{}, ""},
		"enum of texts": {struct {
			V string `json:"v" validate:"oneof=a b,min=2"`
		}{}, "none of the allowed values"},
		"equal to one beyond": {struct {
			V int `json:"v" validate:"eq=5,max=3"`
		}{}, "none of the allowed values"},
		"equal to one within": {struct {
			V int `json:"v" validate:"eq=5,max=7"`
		}{}, ""},
		"equal to none of them": {struct {
			V string `json:"v" validate:"eq=a,oneof=b c"`
		}{}, "none of the allowed values"},
		"equal to one of them": {struct {
			V string `json:"v" validate:"eq=b,oneof=b c"`
		}{}, ""},
		"lists apart": {struct {
			V string `json:"v" validate:"oneof=a b,oneof=c d"`
		}{}, "none of the allowed values"},
		"lists that meet": {struct {
			V string `json:"v" validate:"oneof=a b,oneof=b c"`
		}{}, ""},
		"pointer to lists apart": {struct {
			V *int `json:"v" validate:"oneof=1 2,oneof=3 4"`
		}{}, "none of the allowed values"},
		"elements of lists apart": {struct {
			V []int `json:"v" validate:"dive,oneof=1 2,oneof=3 4"`
		}{}, "of an element, none of the allowed values"},
		"equal to what it is not": {struct {
			V string `json:"v" validate:"eq=a,ne=a"`
		}{}, "none of the allowed values"},
		"equal to two": {struct {
			V int `json:"v" validate:"eq=1,eq=2"`
		}{}, "none of the allowed values"},
		"all of them excluded": {struct {
			V string `json:"v" validate:"oneof=a b,noneof=b a"`
		}{}, "none of the allowed values"},
		"each alternative excluded": {struct {
			V string `json:"v" validate:"eq=a|eq=b,ne=a,ne=b"`
		}{}, "none of the allowed values"},
		"one alternative left": {struct {
			V string `json:"v" validate:"eq=a|eq=b,ne=a"`
		}{}, ""},
		"open alternative": {struct {
			V string `json:"v" validate:"eq=a|min=3,ne=a"`
		}{}, ""},
		"neither true nor false": {struct {
			V bool `json:"v" validate:"ne=true,ne=false"`
		}{}, "none of the allowed values"},
		"enum without a match": {struct {
			V string `json:"v" validate:"oneof=a b,startswith=c"`
		}{}, "none of the allowed values"},
		"enum without a value of the type": {struct {
			V tColor `json:"v" validate:"oneof=purple"`
		}{}, "none of the allowed values"},
		"duration": {struct {
			V time.Duration `json:"v" validate:"min=1h,max=10m"`
		}{}, "no value meets its rules: min=1h and max=10m"},
		"duration exclusive": {struct {
			V time.Duration `json:"v" validate:"gt=1h,lt=3600s"`
		}{}, "gt=1h and lt=3600s"},
		"duration with room": {struct {
			V *time.Duration `json:"v" validate:"gte=1h,lte=3600s"`
		}{}, ""},
		"duration below zero": {struct {
			V time.Duration `json:"v" validate:"max=-1s"`
		}{}, ""},
		"durations": {struct {
			V []time.Duration `json:"v" validate:"min=1,dive,min=1h,max=1m"`
		}{}, "of an element, min=1h and max=1m"},
		"bytes": {struct {
			V []byte `json:"v" validate:"len=5,max=3"`
		}{}, "no value meets its rules: len=5 and max=3"},
		"bytes exact": {struct {
			V []byte `json:"v" validate:"min=3,len=3"`
		}{}, ""},
		"text below zero": {struct {
			V string `json:"v" validate:"max=-1"`
		}{}, "no value meets its rules: max=-1"},
		"list below zero": {struct {
			V []int `json:"v" validate:"lt=0"`
		}{}, "no value meets its rules: lt=0"},
		"map below zero": {struct {
			V map[string]int `json:"v" validate:"dive,keys,len=-1,endkeys"`
		}{}, "of a key, len=-1"},
		"text above below zero": {struct {
			V string `json:"v" validate:"min=-1"`
		}{}, ""},
		"rival bounds": {struct {
			V int `json:"v" jsonschema:"minimum=1" validate:"gt=5"`
		}{}, "jsonschema minimum=1 but validate says exclusiveMinimum 5"},
		"jsonschema alone": {struct {
			V int `json:"v" jsonschema:"minimum=1"`
		}{}, ""},
		"words for elements": {struct {
			V []int `json:"v" validate:"dive,oneof=a"`
		}{}, `"a" is not a whole number`},
		"words for number": {struct {
			V int `json:"v" validate:"oneof=a 2"`
		}{}, `"a" is not a whole number`},
		"words for a duration": {struct {
			V time.Duration `json:"v" validate:"oneof=1s 5s"`
		}{}, `"1s" is not a whole number as Go writes it. Write nanoseconds: 5s is 5000000000`},
		"nanoseconds": {struct {
			V time.Duration `json:"v" validate:"oneof=1000000000 5000000000"`
		}{}, ""},
		"words for a level": {struct {
			V slog.Level `json:"v" validate:"oneof=INFO WARN"`
		}{}, `"INFO" is not a whole number`},
		"numbers of a level": {struct {
			V slog.Level `json:"v" validate:"oneof=0 4"`
		}{}, ""},
		"words for keys": {struct {
			V map[int]string `json:"v" validate:"dive,keys,oneof=a,endkeys"`
		}{}, `"a" is not a whole number`},
		"words for none of": {struct {
			V []uint16 `json:"v" validate:"dive,noneof=a"`
		}{}, `"a" is not a whole number`},
		"leading zero": {struct {
			V int `json:"v" validate:"oneof=01 2"`
		}{}, `"01" is not a whole number as Go writes it`},
		"sign": {struct {
			V uint `json:"v" validate:"oneof=+1"`
		}{}, `"+1" is not a whole number`},
		"largest": {struct {
			V uint64 `json:"v" validate:"oneof=1 18446744073709551615"`
		}{}, ""},
		"nested": {struct {
			L []struct {
				V int `json:"v" validate:"oneof=a"`
			} `json:"l"`
		}{}, `"a" is not a whole number`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, faults := binding.Compile(reflect.TypeOf(tt.in), binding.Input, binding.Options{})
			var said []string
			for _, f := range faults {
				said = append(said, f.String())
			}
			got := strings.Join(said, "\n")
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("faults %q, want %q", got, tt.want)
			}
		})
	}
}

func TestRequiredNumbersWarn(t *testing.T) {
	t.Parallel()
	type in struct {
		N int    `json:"n" validate:"required"`
		B bool   `json:"b" validate:"required"`
		S string `json:"s" validate:"required"`
	}
	plan, faults := binding.Compile(reflect.TypeFor[in](), binding.Input, binding.Options{})
	if plan == nil || len(faults) != 2 || !faults[0].Warning || !faults[1].Warning {
		t.Fatalf("%v", faults)
	}
}
