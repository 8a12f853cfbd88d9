package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/text"
)

// replicas collects what replicas of open models do, by model and number of the replica.
type replicas struct {
	models func() []engine.ModelInfo
}

// replicaMetrics are the metrics of replicas.
var replicaMetrics = []struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(r text.ReplicaInfo) float64
}{
	{replicaDesc("avoformer_replica_threads", "Threads of a replica."), prometheus.GaugeValue, func(r text.ReplicaInfo) float64 { return float64(r.Threads) }},
	{replicaDesc("avoformer_replica_busy", "Threads of a replica that compute, or texts that it generates."), prometheus.GaugeValue, func(r text.ReplicaInfo) float64 { return float64(r.Busy) }},
	{replicaDesc("avoformer_replica_batches_total", "Batches, or steps of texts that are generated, since the model was opened."), prometheus.CounterValue, func(r text.ReplicaInfo) float64 { return float64(r.Batches) }},
	{replicaDesc("avoformer_replica_tokens_total", "Tokens since the model was opened."), prometheus.CounterValue, func(r text.ReplicaInfo) float64 { return float64(r.Tokens) }},
}

func replicaDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, []string{"model", "replica", "node"}, nil)
}

// Describe is part of prometheus.Collector.
func (c replicas) Describe(to chan<- *prometheus.Desc) {
	for _, m := range replicaMetrics {
		to <- m.desc
	}
}

// Collect is part of prometheus.Collector.
func (c replicas) Collect(to chan<- prometheus.Metric) {
	for _, model := range c.models() {
		for i, r := range model.Replicas {
			for _, m := range replicaMetrics {
				to <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(r), model.Name, strconv.Itoa(i), strconv.Itoa(r.Node))
			}
		}
	}
}
