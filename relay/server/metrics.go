package server

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/agenthost/agenthost/relay/gateway"
)

// metrics are what the relay counts. No label is made of what people chose, or the
// number of series would have no bound.
type metrics struct {
	registry  *prometheus.Registry
	envelopes prometheus.Counter
	bytes     prometheus.Counter
	refused   *prometheus.CounterVec
	calls     *prometheus.CounterVec
	took      *prometheus.HistogramVec
	hosts     prometheus.Gauge
}

func newMetrics() *metrics {
	m := &metrics{
		registry:  prometheus.NewRegistry(),
		envelopes: prometheus.NewCounter(prometheus.CounterOpts{Name: "agenthost_relay_envelopes_total", Help: "Envelopes that hosts sent, repetitions included."}),
		bytes:     prometheus.NewCounter(prometheus.CounterOpts{Name: "agenthost_relay_envelope_bytes_total", Help: "Bytes of the envelopes that hosts sent."}),
		refused:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "agenthost_relay_refused_total", Help: "Requests refused before anything was done, by code."}, []string{"code"}),
		calls:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: "agenthost_relay_commands_total", Help: "Commands to hosts, by method and outcome."}, []string{"method", "code"}),
		took:      prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "agenthost_relay_command_seconds", Help: "How long commands took.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 9)}, []string{"method"}),
		hosts:     prometheus.NewGauge(prometheus.GaugeOpts{Name: "agenthost_relay_hosts", Help: "Hosts connected to this process."}),
	}
	m.registry.MustRegister(m.envelopes, m.bytes, m.refused, m.calls, m.took, m.hosts,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// watch adds what viewers make a gateway hold.
func (m *metrics) watch(load func() gateway.Load) {
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "agenthost_relay_viewer_bytes", Help: "Bytes held for viewers that have not taken them yet."},
			func() float64 { return float64(load().Held) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "agenthost_relay_viewer_waiting", Help: "Streams that wait because their viewer, its token or its tenant may have no more in memory."},
			func() float64 { return float64(load().Waiting) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "agenthost_relay_viewer_refused_total", Help: "What was refused to viewers because they had too much in memory."},
			func() float64 { return float64(load().Refused) }))
}

// watchStore adds whether things can be stored.
func (m *metrics) watchStore(ready func(context.Context) error, failures func() int) {
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "agenthost_relay_ready", Help: "1 when everything can be stored, as /readyz has it."}, func() float64 {
			if ready(context.Background()) != nil {
				return 0
			}
			return 1
		}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "agenthost_relay_store_failures_total", Help: "Writes to the store that failed."},
			func() float64 { return float64(failures()) }))
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
