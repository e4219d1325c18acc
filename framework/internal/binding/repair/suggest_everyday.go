package repair

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// wantsTime reports whether a text must be a date or a time.
func wantsTime(c *rules.Constraints, k schema.Keywords) bool {
	format := k.Text("format")
	return format == "date" || format == "date-time" || timeLayout(c) != ""
}

// timeLayout returns the layout that a datetime rule demands, or "" without such a rule.
func timeLayout(c *rules.Constraints) string {
	if c == nil {
		return ""
	}
	if i := slices.IndexFunc(c.Rules, func(r rules.Rule) bool { return r.Name == "datetime" }); i >= 0 {
		return c.Rules[i].Param
	}
	return ""
}

// everydayTime reads a date or a time in one of the forms that people write, and writes it in the wanted form.
func everydayTime(c *rules.Constraints, k schema.Keywords, value []byte) []byte {
	when, ok := momentOf(value)
	if !ok {
		return nil
	}
	layout := time.RFC3339Nano
	if k.Text("format") == "date" {
		layout = time.DateOnly
	}
	return jsontext.Quote(nil, when.Format(cmp.Or(timeLayout(c), layout)))
}

// momentOf reads a date or a time in an everyday form, or the seconds or milliseconds since 1970. A time
// without a zone is in UTC. momentOf does not read a date that may mean two days, such as 5/6/2027.
func momentOf(value []byte) (when time.Time, ok bool) {
	text := strings.TrimSpace(jsonedit.TextOf(value))
	if len(text) > 64 {
		return when, false
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil && len(text) != len("20060102") {
		switch {
		case n >= 1e8 && n < 1e11:
			return time.Unix(int64(n), 0).UTC(), true
		case n >= 1e11 && n < 1e14:
			return time.UnixMilli(int64(n)).UTC(), true
		}
		return when, false
	}
	text = timeNoise().ReplaceAllString(text, "$1 ")
	text = shortMonth().ReplaceAllString(text, "$1$2")
	text = strings.Join(strings.Fields(meridiem().ReplaceAllStringFunc(text, func(m string) string { return " " + strings.ToUpper(strings.TrimSpace(m)) })), " ")
	text = zulu().ReplaceAllString(text, "Z")
	for _, layout := range everydayLayouts[shapeOf(text)] {
		if when, err := time.Parse(layout, text); err == nil && !ambiguous(layout, when) {
			return when, true
		}
	}
	return when, false
}

// ambiguous reports whether the day could be the month.
func ambiguous(layout string, when time.Time) bool {
	dayOrMonth := slices.ContainsFunc([]string{"1/2/", "2/1/", "1-2-", "2-1-"}, func(start string) bool { return strings.HasPrefix(layout, start) })
	return dayOrMonth && when.Day() <= 12 && when.Day() != int(when.Month())
}

var (
	// timeNoise are ordinals, the names of days, commas, articles, and words between the date and the time.
	timeNoise = lazily(`(?i)([0-9])(?:st|nd|rd|th)\b|\b(?:mon|tue|tues|wednes|wed|thu|thurs|fri|satur|sat|sun)(?:day)?\b\.?|,|\bat\b|\bof\b|\bthe\b`)
	// shortMonth is a month cut short, also as Sept, and the period that some people write after it.
	shortMonth = lazily(`(?i)\b(?:(sep)t|(jan|feb|mar|apr|jun|jul|aug|sep|oct|nov|dec))\b\.?`)
	meridiem   = lazily(`(?i)\s*[ap]m\b`)
	zulu       = lazily(`(?i)\s*\b(?:utc|gmt|z)$`)
)

// shapeOf returns the first byte that is not a digit, and 'a' for all letters. A text is compared only with the
// layouts of its shape.
func shapeOf(text string) byte {
	for _, b := range []byte(text) {
		switch {
		case b|0x20 >= 'a' && b|0x20 <= 'z':
			return 'a'
		case b < '0' || b > '9':
			return b
		}
	}
	return 0
}

// everydayLayouts are forms of dates with and without a time, and with and without a zone, by their shape.
var everydayLayouts = func() map[byte][]string {
	all := []string{"Jan 2 15:04:05 2006", "Jan 2 15:04:05Z07:00 2006"}
	dates := []string{
		"2006-1-2", "2006/1/2", "2006.1.2", "20060102", "2.1.2006", "2/1/2006", "1/2/2006", "2 January 2006", "2 Jan 2006", "January 2 2006",
		"Jan 2 2006", "2-Jan-2006", "2-January-2006", "2-Jan-06", "2-1-2006", "1-2-2006", "2006 January 2", "2006 Jan 2",
	}
	clocks := []string{"", " 15:04", " 15:04:05", " 3:04 PM", " 3:04:05 PM", " 3 PM", "T15:04", "T15:04:05", "T150405"}
	for _, date := range dates {
		for _, clock := range clocks {
			all = append(all, date+clock)
			if clock != "" {
				all = append(all, date+clock+"Z07:00", date+clock+" Z07:00", date+clock+" -0700", date+clock+"-0700")
			}
		}
	}
	byShape := map[byte][]string{}
	for _, layout := range all {
		byShape[shapeOf(layout)] = append(byShape[shapeOf(layout)], layout)
	}
	return byShape
}()

// everydayDuration reads a duration in words, as on a clock, or in ISO 8601, and writes it in Go's form. It
// returns nil if the text is not a duration.
func everydayDuration(text string) []byte {
	text = strings.ToLower(strings.TrimSpace(text))
	if text == "" || len(text) > 64 {
		return nil
	}
	for _, read := range []func(string) (time.Duration, bool){clockDuration, isoDuration, wordDuration} {
		if d, ok := read(text); ok {
			return jsontext.Quote(nil, gotype.DurationText(d))
		}
	}
	return nil
}

// clockDuration reads 1:30:00.
func clockDuration(text string) (d time.Duration, ok bool) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return 0, false
	}
	for i, unit := range []time.Duration{time.Hour, time.Minute, time.Second} {
		n, err := strconv.ParseUint(parts[i], 10, 16)
		if err != nil || i > 0 && n > 59 {
			return 0, false
		}
		d += time.Duration(n) * unit
	}
	return d, true
}

// isoDuration reads PT1H30M.
func isoDuration(text string) (time.Duration, bool) {
	text, ok := strings.CutPrefix(text, "p")
	if !ok {
		return 0, false
	}
	days, clock, _ := strings.Cut(text, "t")
	if strings.ContainsAny(days, "ym") { // the length of a month or a year depends on the calendar
		return 0, false
	}
	return wordDuration(days + " " + clock)
}

var durationPart = lazily(`^(?:(half|quarter)(?: an?| of an?)?|([0-9]+(?:\.[0-9]+)?)|([a-z]+)\b)\s*([a-z]+)\.?(?:\s*(?:,|and|&)\s*|\s+|$)`)

var durationUnits = map[string]time.Duration{
	"us": time.Microsecond, "microsecond": time.Microsecond,
	"ms": time.Millisecond, "msec": time.Millisecond, "millisecond": time.Millisecond,
	"s": time.Second, "sec": time.Second, "second": time.Second,
	"m": time.Minute, "min": time.Minute, "minute": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hour": time.Hour,
	"d": 24 * time.Hour, "day": 24 * time.Hour, "w": 7 * 24 * time.Hour, "week": 7 * 24 * time.Hour,
}

var countWord = map[string]float64{
	"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "twelve": 12,
	"fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90, "half": 0.5, "quarter": 0.25,
}

// wordDuration reads parts such as 1 hour, an hour, 90 min., half an hour, an hour and a half, one and a half
// hours. It does not read a text with the same unit twice, as in "1 hour 1 hour".
func wordDuration(text string) (time.Duration, bool) {
	var total, half float64
	var seen []time.Duration
	text = decimalComma().ReplaceAllString(minutesAfterHours().ReplaceAllString(text, "${1}m"), "$1.$2")
	text = halfBeforeUnit().ReplaceAllString(text, "$1 $2 and a half")
	for text = strings.TrimSpace(splitUnits().ReplaceAllString(text, "$1 ")); text != ""; {
		if text == "a half" && half > 0 {
			total += half
			break
		}
		part := durationPart().FindStringSubmatch(text)
		if part == nil {
			return 0, false
		}
		count, known := countWord[part[1]+part[3]]
		if part[2] != "" {
			var err error
			count, err = strconv.ParseFloat(part[2], 64)
			known = err == nil
		}
		unit, named := durationUnits[part[4]]
		if !named {
			unit, named = durationUnits[strings.TrimSuffix(part[4], "s")]
		}
		if !known || !named || slices.Contains(seen, unit) {
			return 0, false
		}
		total, half = total+count*float64(unit), 0
		if count >= 1 {
			half = float64(unit) / 2
		}
		text, seen = text[len(part[0]):], append(seen, unit)
	}
	if len(seen) == 0 || math.Abs(total) >= math.MaxInt64 {
		return 0, false
	}
	return time.Duration(math.Round(total)), true
}

// splitUnits separates 1h30m, and halfBeforeUnit finds "one and a half hours". minutesAfterHours finds the end of
// 1h30. decimalComma finds 1,5; before three digits, the comma may separate thousands.
var (
	minutesAfterHours = lazily(`^([0-9]+ ?h ?[0-5][0-9])$`)
	decimalComma      = lazily(`\b([0-9]+),([0-9]{1,2} ?[a-z])`)
	splitUnits        = lazily(`([0-9]\s*[a-z]+\.?)`)
	halfBeforeUnit    = lazily(`\b([a-z]+|[0-9]+) and a half ([a-z]+)\b`)
)
