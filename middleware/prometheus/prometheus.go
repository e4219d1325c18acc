// Package prometheus serves the measurements of middleware.Metrics to Prometheus. It is a module of
// its own: programs that do not use it do not depend on it.
//
//	metrics, err := prometheus.New()
//	app.Use(middleware.MetricsWith(metrics))
//	http.Handle("/metrics", metrics.Handler())
//
// It is OpenTelemetry's own exporter with a registry of its own. middleware.Metrics uses the API of
// OpenTelemetry. A provider on client_golang alone, which the exporter writes to, would have to
// implement every kind of instrument, only to save the SDK.
//
// The histogram is mcp_server_operation_duration_seconds, with the attributes of middleware.Metrics
// as labels, dots as underscores. Other measurements of the program with the same provider are also
// served:
//
//	otel.SetMeterProvider(metrics)
//
// Metrics reveal how a server is used. Put the handler on an address that only your own programs
// can reach, because it does not authenticate clients.
package prometheus

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
)

// Metrics is a provider of OpenTelemetry with a page of its measurements. It is safe for concurrent
// use and starts no goroutine. Two of them share nothing.
type Metrics struct {
	metric.MeterProvider // for middleware.MetricsWith and otel.SetMeterProvider

	provider *sdk.MeterProvider
	registry *prometheus.Registry
}

// Option configures New. A nil option is ignored. Other packages cannot implement it.
type Option interface{ option(c *config) }

type optionFunc func(*config)

func (f optionFunc) option(c *config) { f(c) }

type config struct {
	collectors []prometheus.Collector
	export     []exporter.Option
	measure    []sdk.Option
}

// missing returns an error for arguments that are nil, because the libraries would call them.
func (c *config) missing() error {
	switch {
	case slices.ContainsFunc(c.collectors, func(c prometheus.Collector) bool { return c == nil }):
		return errors.New("prometheus: Collect: a collector is nil")
	case slices.ContainsFunc(c.export, func(o exporter.Option) bool { return o == nil }):
		return errors.New("prometheus: Export: an option is nil")
	case slices.ContainsFunc(c.measure, func(o sdk.Option) bool { return o == nil }):
		return errors.New("prometheus: Measure: an option is nil")
	}
	return nil
}

// Collect adds collectors of client_golang to the page, for example the collectors of the Go
// runtime (collectors.NewGoCollector()).
func Collect(c ...prometheus.Collector) Option {
	return optionFunc(func(cfg *config) { cfg.collectors = append(cfg.collectors, c...) })
}

// Export passes options to the exporter, such as WithNamespace.
func Export(opts ...exporter.Option) Option {
	return optionFunc(func(cfg *config) { cfg.export = append(cfg.export, opts...) })
}

// Measure passes options to the SDK, such as views and a resource.
func Measure(opts ...sdk.Option) Option {
	return optionFunc(func(cfg *config) { cfg.measure = append(cfg.measure, opts...) })
}

// New returns a Metrics. It returns an error if an option is invalid, or if a collector collides
// with another.
func New(opts ...Option) (*Metrics, error) {
	// The name of the measuring module is the same for every line of the page.
	cfg := config{export: []exporter.Option{exporter.WithoutScopeInfo()}}
	for _, o := range opts {
		if o != nil {
			o.option(&cfg)
		}
	}
	if err := cfg.missing(); err != nil {
		return nil, err
	}
	m := &Metrics{registry: prometheus.NewRegistry()}
	for _, c := range cfg.collectors {
		if err := m.registry.Register(c); err != nil {
			return nil, fmt.Errorf("prometheus: registering a collector: %w", err)
		}
	}
	reader, err := exporter.New(append(cfg.export, exporter.WithRegisterer(m.registry))...)
	if err != nil {
		return nil, fmt.Errorf("prometheus: making the exporter: %w", err)
	}
	m.provider = sdk.NewMeterProvider(append(cfg.measure, sdk.WithReader(reader))...)
	m.MeterProvider = m.provider
	return m, nil
}

// Handler serves the page, in the format that the client requests.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry, EnableOpenMetrics: true})
}

// Shutdown ends measuring; the page then has no measurements of the provider. Programs that end
// need not call it, because nothing is buffered.
func (m *Metrics) Shutdown(ctx context.Context) error { return m.provider.Shutdown(ctx) }
