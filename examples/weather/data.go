package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // for machines without time zones, such as Windows: without them, dates would be in UTC
)

//go:embed cities.json
var citiesJSON []byte

// City is a city and its climate by month.
type City struct {
	Name      string      `json:"name"`
	Country   string      `json:"country"`
	Latitude  float64     `json:"latitude"`
	Longitude float64     `json:"longitude"`
	Timezone  string      `json:"timezone"`
	HighC     [12]float64 `json:"highC"`
	LowC      [12]float64 `json:"lowC"`
	Rain      [12]int     `json:"rain"`
}

// Day is the forecast of one day.
type Day struct {
	Date       string  `json:"date" doc:"day, as 2006-01-02"`
	HighC      float64 `json:"highC" doc:"highest temperature in °C"`
	LowC       float64 `json:"lowC" doc:"lowest temperature in °C"`
	RainChance int     `json:"rainChance" doc:"chance of rain in percent"`
	Summary    string  `json:"summary" doc:"the day in a few words"`
}

// cities returns all cities, sorted by name.
var cities = sync.OnceValue(func() []City {
	var all []City
	if err := json.Unmarshal(citiesJSON, &all); err != nil {
		panic(fmt.Sprintf("cities.json, which is part of the program: %v", err))
	}
	return all
})

// findCity ignores case and accents, because models write "Sao Paulo".
func findCity(name string) (City, bool) {
	wanted := fold(name)
	for _, c := range cities() {
		if fold(c.Name) == wanted {
			return c, true
		}
	}
	return City{}, false
}

// citiesWithPrefix returns the names that begin with prefix. It also ignores case and accents.
func citiesWithPrefix(prefix string) []string {
	wanted := fold(prefix)
	names := []string{}
	for _, c := range cities() {
		if strings.HasPrefix(fold(c.Name), wanted) {
			names = append(names, c.Name)
		}
	}
	return names
}

var accents = strings.NewReplacer("á", "a", "ã", "a", "é", "e", "í", "i", "ó", "o", "ü", "u")

func fold(name string) string {
	return accents.Replace(strings.ToLower(strings.TrimSpace(name)))
}

// forecastFor returns the climate of the month with a variation. The variation depends only on the
// city and the date, so that the same question always has the same answer.
func forecastFor(c City, from time.Time, days int) []Day {
	zone, err := time.LoadLocation(c.Timezone)
	if err != nil {
		zone = time.UTC
	}
	out := make([]Day, 0, days)
	for i := range days {
		out = append(out, dayFor(c, from.In(zone).AddDate(0, 0, i)))
	}
	return out
}

func dayFor(c City, date time.Time) Day {
	day := date.Format(time.DateOnly)
	h := fnv.New32a()
	_, _ = h.Write([]byte(c.Name + day))
	dice := h.Sum32()
	month := date.Month() - 1
	warmer := float64(dice%61)/10 - 3 // -3 to +3 °C
	rain := min(95, max(0, c.Rain[month]+int((dice>>8)%41)-20))
	return Day{
		Date: day, HighC: tenth(c.HighC[month] + warmer), LowC: tenth(c.LowC[month] + warmer/2),
		RainChance: rain, Summary: summary(c.HighC[month]+warmer, rain),
	}
}

func tenth(x float64) float64 { return math.Round(x*10) / 10 }

func summary(highC float64, rain int) string {
	warmth := "mild"
	switch {
	case highC < 3:
		warmth = "cold"
	case highC < 12:
		warmth = "cool"
	case highC >= 28:
		warmth = "hot"
	case highC >= 21:
		warmth = "warm"
	}
	switch {
	case rain >= 60:
		return warmth + " and rainy"
	case rain >= 35:
		return warmth + ", showers possible"
	case rain >= 15:
		return warmth + " with some clouds"
	}
	return warmth + " and dry"
}
