package binding_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// drawnMistake is a call with a mistake.
type drawnMistake struct {
	kind  string
	call  map[string]any
	paths []string // places of the mistake, by the names of the right call
	undo  bool     // a reader of the call knows what was meant
}

// drawMistakes makes one mistake of each kind for a member, and one that concerns two members.
func drawMistakes(r *rand.Rand, good map[string]any) []drawnMistake {
	names := slices.Sorted(maps.Keys(good))
	first := names[r.IntN(len(names))]
	out := mistakesOf(r, good, first)
	if len(names) > 1 { // a name and a value
		second := names[(slices.Index(names, first)+1)%len(names)]
		values := slices.DeleteFunc(mistakesOf(r, good, second), func(m drawnMistake) bool { return strings.HasPrefix(m.kind, "name") || !m.undo })
		if len(values) > 0 {
			m := values[r.IntN(len(values))]
			m.call = renamed(m.call, first, respelt(r, first))
			out = append(out, drawnMistake{"two", m.call, append(m.paths, "/"+first), true})
		}
	}
	extra := maps.Clone(good)
	extra["verbose_zz"] = true
	return append(out, drawnMistake{"extra", extra, nil, true})
}

func renamed(call map[string]any, from, to string) map[string]any {
	out := maps.Clone(call)
	out[to] = out[from]
	if to != from {
		delete(out, from)
	}
	return out
}

// respelt returns name in a spelling that a model may use.
func respelt(r *rand.Rand, name string) string {
	camel := strings.ReplaceAll(name, "_", "")
	options := []string{strings.ToUpper(name[:1]) + name[1:], strings.ToUpper(name), camel + "s", name + "_value", "search_" + name, "the" + strings.ToUpper(name[:1]) + name[1:]}
	if len(name) > 4 {
		options = append(options, name[:2]+name[3:], name[:1]+name[2:3]+name[1:2]+name[3:])
	}
	return options[r.IntN(len(options))]
}

func mistakesOf(r *rand.Rand, good map[string]any, name string) (out []drawnMistake) {
	at := []string{"/" + name}
	add := func(kind string, value any, undo bool) {
		call := maps.Clone(good)
		call[name] = value
		out = append(out, drawnMistake{kind, call, at, undo})
	}
	out = append(out, drawnMistake{"name", renamed(good, name, respelt(r, name)), at, true})
	missing := maps.Clone(good)
	delete(missing, name)
	out = append(out, drawnMistake{"missing", missing, at, false})
	add("null", nil, false)
	add("nonsense", "%%%", false)
	switch value := good[name].(type) {
	case json.Number:
		add("unit", value.String()+" units", true)
		add("listed", []any{value}, true)
		add("beyond", json.Number("-"+strings.TrimPrefix(value.String(), "-")), false)
		add("wrapped", map[string]any{"value": value}, true)
	case bool:
		add("word", map[bool]string{true: "yes", false: "no"}[value], true)
		add("listed", []any{value}, true)
	case string:
		add("listed", []any{value}, true)
		add("wrapped", map[string]any{"value": value}, true)
		addText(r, name, value, add)
	case []any:
		add("dictionary", map[string]any{"items": value}, true)
		if name == "ids" {
			add("joined", strings.Trim(string(encoded(value)), "[]"), true)
		}
		if len(value) == 1 {
			add("single", value[0], true)
		}
		if name == "items" {
			item := maps.Clone(value[0].(map[string]any))
			item["count"] = json.Number("0")
			call := maps.Clone(good)
			call[name] = append([]any{item}, value[1:]...)
			out = append(out, drawnMistake{"inside", call, []string{"/items/0/count"}, false})
			call = maps.Clone(good)
			call[name] = append([]any{renamed(value[0].(map[string]any), "article", "articleName")}, value[1:]...)
			out = append(out, drawnMistake{"name inside", call, []string{"/items/0/article"}, true})
		}
	case map[string]any:
		add("listed", []any{value}, true)
		if name == "address" {
			add("name inside", renamed(value, "city", "City"), true)
			add("name inside", renamed(value, "street", "street_name"), true)
		}
	}
	return out
}

// addText adds mistakes of texts of each kind.
func addText(r *rand.Rand, name, value string, add func(kind string, value any, undo bool)) {
	switch name {
	case "start_time":
		when, _ := time.Parse(time.RFC3339, value)
		add("time", everydayTime(r, when), true)
	case "day":
		when, _ := time.Parse(time.DateOnly, value)
		add("day", everydayTime(r, when), true)
	case "timeout":
		d, _ := time.ParseDuration(value)
		add("duration", everydayDuration(r, d), true)
	case "sort", "color":
		add("case", strings.ToUpper(value), true)
		add("typing", value[:1]+value[2:], true)
		add("in a sentence", "by "+value, true)
	case "website":
		add("no scheme", strings.TrimPrefix(value, "https://"), true)
	case "email":
		add("mailto", "mailto:"+value, true)
		add("angle", "Somebody <"+value+">", true)
	case "path":
		add("no start", strings.TrimPrefix(value, "/"), true)
	}
}

func everydayTime(r *rand.Rand, when time.Time) any {
	layouts := []string{
		"2006/01/02", "02.01.2006", "January 2, 2006", "2 January 2006", "Jan 2 2006", "2 Jan 2006", "Monday, January 2, 2006", "20060102", "2006.01.02",
		"2006-01-02T15:04:05.000Z07:00",
	}
	if when.Hour() != 0 {
		layouts = []string{
			"2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05", "January 2, 2006 3:04 PM", "02.01.2006 15:04",
			time.RFC1123, time.RFC1123Z, time.RFC850, time.ANSIC, "2006/01/02 15:04", "2 Jan 2006 15:04", "2006-01-02 15:04:05 -0700",
		}
	}
	if i := r.IntN(len(layouts) + 1); i < len(layouts) {
		return when.Format(layouts[i])
	}
	return json.Number(fmt.Sprint(when.Unix()))
}

func everydayDuration(r *rand.Rand, d time.Duration) any {
	switch r.IntN(5) {
	case 0:
		return fmt.Sprintf("%g minutes", d.Minutes())
	case 1:
		return fmt.Sprintf("%g seconds", d.Seconds())
	case 2:
		return fmt.Sprintf("%g hours", d.Hours())
	case 3:
		return "PT" + strings.ToUpper(d.String())
	}
	if d == time.Hour {
		return "one hour"
	}
	return fmt.Sprintf("%d min %d sec", int(d.Minutes()), int(d.Seconds())%60)
}
