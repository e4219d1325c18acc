// Command weather is an MCP server with a made-up but plausible forecast for
// some real cities: two tools, a resource, a resource template and a prompt.
//
//	go run ./cmd/kagami call ./examples/weather forecast city=Kyoto days=2
//	go run ./examples/weather --http :8080
package main

import (
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
)

func main() {
	serve.Main(newApp(time.Now))
}

// newApp returns the app. Tests give it a clock with a fixed date.
func newApp(now func() time.Time) *framework.App {
	w := &weather{now: now}
	return framework.New("weather", "1.0.0",
		framework.WithTitle("Weather of the world"),
		framework.WithInstructions("Forecasts for a fixed list of cities: weather://cities. All figures are derived from climate tables, not measured."),
	).Add(
		framework.Tool("forecast", w.Forecast,
			framework.Title("Weather forecast"),
			framework.Describe("Daily forecast for one city, today included: high and low in °C and the chance of rain."),
			framework.ReadOnly(), framework.OpenWorld(false)),
		framework.Tool("compare", w.Compare,
			framework.Title("Compare cities"),
			framework.Describe("Compare the coming weather of several cities, and name the warmest and the driest."),
			framework.ReadOnly(), framework.OpenWorld(false)),
		framework.Resource("weather://cities", w.Cities,
			framework.Name("cities"),
			framework.Describe("All cities that have a forecast.")),
		framework.ResourceTemplate("weather://{city}", w.Week,
			framework.Name("week"),
			framework.Describe("The coming week in one city."),
			framework.MIME("application/json"),
			framework.Complete("city", completeCity)),
		framework.Prompt("plan_trip", w.PlanTrip,
			framework.Title("Plan a trip"),
			framework.Describe("Plan some days in a city around its weather."),
			framework.Complete("city", completeCity)),
	)
}
