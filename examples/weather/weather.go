package main

import (
	"context"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/framework"
)

// week is the number of days in the resource template.
const week = 7

type weather struct {
	now func() time.Time
}

// ForecastIn is the input of the tool forecast.
type ForecastIn struct {
	City string `json:"city" doc:"name of a city, such as Kyoto" validate:"min=1"`
	Days int    `json:"days" doc:"number of days, today included" default:"3" validate:"min=1,max=14"`
}

// Forecast is the weather of the coming days in one city.
type Forecast struct {
	City    string `json:"city"`
	Country string `json:"country" doc:"ISO 3166 code"`
	Days    []Day  `json:"days"`
}

// Forecast implements the tool forecast.
func (w *weather) Forecast(_ context.Context, in ForecastIn) (Forecast, error) {
	city, ok := findCity(in.City)
	if !ok {
		return Forecast{}, unknownCity(in.City)
	}
	return w.forecast(city, in.Days), nil
}

func (w *weather) forecast(city City, days int) Forecast {
	return Forecast{City: city.Name, Country: city.Country, Days: forecastFor(city, w.now(), days)}
}

// CompareIn is the input of the tool compare.
type CompareIn struct {
	Cities []string `json:"cities" doc:"names of the cities" validate:"min=2,max=10"`
	Days   int      `json:"days" doc:"number of days, today included" default:"3" validate:"min=1,max=14"`
}

// Comparison is the result of the tool compare.
type Comparison struct {
	Warmest string `json:"warmest" doc:"city with the highest average temperature"`
	Driest  string `json:"driest" doc:"city with the lowest chance of rain"`
	Cities  []Mean `json:"cities" doc:"in the order given"`
}

// Mean has the average weather of some days in one city.
type Mean struct {
	City       string  `json:"city"`
	HighC      float64 `json:"highC" doc:"average high in °C"`
	LowC       float64 `json:"lowC" doc:"average low in °C"`
	RainChance float64 `json:"rainChance" doc:"average chance of rain in percent"`
}

// Compare implements the tool compare. It reports progress, because a real source of data would
// need a moment for each city.
func (w *weather) Compare(ctx context.Context, in CompareIn) (Comparison, error) {
	var all Comparison
	for _, name := range framework.Track(ctx, in.Cities, "comparing cities") {
		city, ok := findCity(name)
		if !ok {
			return Comparison{}, unknownCity(name)
		}
		all.Cities = append(all.Cities, mean(w.forecast(city, in.Days)))
	}
	if err := ctx.Err(); err != nil {
		return Comparison{}, err
	}
	warmest, driest := all.Cities[0], all.Cities[0]
	for _, m := range all.Cities[1:] {
		if m.HighC+m.LowC > warmest.HighC+warmest.LowC {
			warmest = m
		}
		if m.RainChance < driest.RainChance {
			driest = m
		}
	}
	all.Warmest, all.Driest = warmest.City, driest.City
	return all, nil
}

// Cities returns the resource weather://cities.
func (w *weather) Cities(context.Context) ([]string, error) {
	return citiesWithPrefix(""), nil
}

// CityRef has the variable of weather://{city}.
type CityRef struct {
	City string `uri:"city"`
}

// Week returns the resource weather://{city}.
func (w *weather) Week(_ context.Context, ref CityRef) (Forecast, error) {
	city, ok := findCity(ref.City)
	if !ok {
		return Forecast{}, framework.NotFoundf("there is no city %q; weather://cities lists all", ref.City)
	}
	return w.forecast(city, week), nil
}

// TripArgs are the arguments of the prompt plan_trip.
type TripArgs struct {
	City string `json:"city" doc:"where to go"`
	Days int    `json:"days" doc:"how long to stay, in days" default:"3" validate:"min=1,max=14"`
}

// PlanTrip implements the prompt plan_trip.
func (w *weather) PlanTrip(_ context.Context, args TripArgs) (framework.Messages, error) {
	city, ok := findCity(args.City)
	if !ok {
		return nil, unknownCity(args.City)
	}
	return framework.Messages{
		framework.Userf("Plan a trip of %d days to %s. Call the tool forecast for its weather first, "+
			"then suggest what to do on each day: indoors when rain is likely. Say what to pack.", args.Days, city.Name),
	}, nil
}

func completeCity(_ context.Context, prefix string, _ map[string]string) ([]string, error) {
	return citiesWithPrefix(prefix), nil
}

// unknownCity returns an error that suggests similar names of cities.
func unknownCity(name string) error {
	const most = 5
	letters := []rune(strings.TrimSpace(name))
	for n := len(letters); n > 0; n-- {
		if near := citiesWithPrefix(string(letters[:n])); len(near) > 0 {
			return framework.UserErrorf("There is no forecast for %q. Did you mean %s?",
				name, strings.Join(near[:min(most, len(near))], " or "))
		}
	}
	return framework.UserErrorf("There is no forecast for %q. The resource weather://cities lists all cities.", name)
}

// mean rounds to a tenth, because more digits would suggest a precision that the data does not
// have.
func mean(f Forecast) Mean {
	var high, low, rain float64
	for _, d := range f.Days {
		high += d.HighC
		low += d.LowC
		rain += float64(d.RainChance)
	}
	n := float64(len(f.Days))
	return Mean{City: f.City, HighC: tenth(high / n), LowC: tenth(low / n), RainChance: tenth(rain / n)}
}
