package main

import (
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// app returns the app with a fixed date. It is noon in London, so that Kyoto has the same date.
func app() *framework.App {
	return newApp(func() time.Time { return time.Date(2026, time.April, 10, 11, 0, 0, 0, time.UTC) })
}

func TestForecast(t *testing.T) {
	testkit.AllRevisions(t, app, func(t *testing.T, s *testkit.Session) {
		got, err := testkit.CallAs[Forecast](s, "forecast", ForecastIn{City: "kyoto", Days: 2})
		if err != nil || got.City != "Kyoto" || got.Country != "JP" || len(got.Days) != 2 || got.Days[0].Date != "2026-04-10" {
			t.Errorf("%+v, %v", got, err)
		}
		got, err = testkit.CallAs[Forecast](s, "forecast", map[string]string{"city": "Kyoto"})
		if err != nil || len(got.Days) != 3 {
			t.Errorf("by default: %+v, %v", got, err)
		}
	})
}

func TestMistakes(t *testing.T) {
	testkit.BothEras(t, app, func(_ *testing.T, s *testkit.Session) {
		s.CallRaw("forecast", `{"city":"Kioto"}`).IsError().Mentions(`"Kioto"`, "Kyoto")
		s.CallRaw("forecast", `{"city":"?"}`).IsError().Mentions("weather://cities")
		s.CallRaw("forecast", `{"city":"Kyoto","days":15}`).IsError().Mentions("days", "14")
		s.CallRaw("forecast", `{"city":"Kyoto","days":0}`).IsError().Mentions("days", "1")
		s.CallRaw("forecast", `{"town":"Kyoto"}`).IsError().Mentions("town", "city")
		s.CallRaw("compare", `{"cities":["Kyoto"]}`).IsError().Mentions("cities", "2")
		s.CallRaw("compare", `{"cities":["Kyoto","Oslu"]}`).IsError().Mentions("Oslo")
		s.Read("weather://Atlantis").IsError().Mentions("Atlantis")
		s.Get("plan_trip", map[string]string{"city": "Kioto"}).IsError().Mentions("Kyoto")
		s.Get("plan_trip", map[string]string{"city": "Kyoto", "days": "many"}).IsError().Mentions("days")
	})
}

func TestCompare(t *testing.T) {
	testkit.AllRevisions(t, app, func(t *testing.T, s *testkit.Session) {
		got, err := testkit.CallAs[Comparison](s, "compare", CompareIn{Cities: []string{"Oslo", "Cairo", "Kyoto"}, Days: 7})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Cities) != 3 || got.Cities[0].City != "Oslo" || got.Warmest != "Cairo" || got.Driest != "Cairo" {
			t.Errorf("%+v", got)
		}
		progress := s.Progress()
		if n := len(progress); n == 0 || progress[n-1].Done != 3 || progress[n-1].Total != 3 {
			t.Errorf("progress: %+v", progress)
		}
	})
}

func TestResourcesAndPrompt(t *testing.T) {
	testkit.BothEras(t, app, func(t *testing.T, s *testkit.Session) {
		cities, err := testkit.ReadAs[[]string](s, "weather://cities")
		if err != nil || len(cities) < 45 || !slices.Contains(cities, "Kyoto") {
			t.Errorf("%q, %v", cities, err)
		}
		coming, err := testkit.ReadAs[Forecast](s, "weather://Kyoto")
		if err != nil || len(coming.Days) != week {
			t.Errorf("%+v, %v", coming, err)
		}
		for _, city := range cities {
			if _, ok := findCity(city); !ok {
				t.Errorf("%s is listed but not found", city)
			}
		}
		s.Get("plan_trip", map[string]string{"city": "kyoto", "days": "4"}).OK().Mentions("4 days", "Kyoto")
		for _, ref := range []string{"plan_trip", "weather://{city}"} {
			if got := s.Complete(ref, "city", "ky", nil); !slices.Contains(got, "Kyoto") {
				t.Errorf("completion of %s: %q", ref, got)
			}
		}
	})
}

// A host may call these tools without asking the user.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	for _, tool := range testkit.New(t, app).Tools() {
		hints := tool.Annotations
		if hints.ReadOnly == nil || !*hints.ReadOnly || tool.OutputSchema == nil {
			t.Errorf("%s: %+v, output schema %s", tool.Name, hints, tool.OutputSchema)
		}
	}
}

func TestMean(t *testing.T) {
	t.Parallel()
	got := mean(Forecast{City: "x", Days: []Day{{HighC: 10, LowC: 1, RainChance: 10}, {HighC: 11, LowC: 2, RainChance: 15}}})
	if want := (Mean{City: "x", HighC: 10.5, LowC: 1.5, RainChance: 12.5}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
