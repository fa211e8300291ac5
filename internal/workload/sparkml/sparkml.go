// Package sparkml is a workload of machine learning on Apache Spark: it trains on data in memory over and over, and can
// then decide on a stream by what it has learnt. The driver is a script in Python; data are made by Spark itself, from a
// seed.
package sparkml

import (
	"fmt"
	"slices"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/spark"
	"plimsoll/internal/workload"
)

// Parameters are what a study may set.
type Parameters struct {
	Algorithm    string             `name:"algorithm" doc:"k-means, logistic regression, random forest, or logistic regression that then decides on a stream of sensors" choices:"kmeans,logistic,forest,sensors"`
	Rows         int                `name:"rows" doc:"rows of the training data; the test data has a quarter of them" min:"100" max:"1000000000"`
	Features     int                `name:"features" doc:"features of a row; of sensors, their number" min:"1" max:"1000"`
	Partitions   int                `name:"partitions" doc:"partitions of the data" min:"1" max:"10000"`
	Iterations   int                `name:"iterations" doc:"iterations of k-means and logistic regression" min:"1" max:"1000"`
	Clusters     int                `name:"clusters" doc:"clusters of k-means" min:"2" max:"1000"`
	Trees        int                `name:"trees" doc:"trees of the forest" min:"1" max:"1000"`
	Depth        int                `name:"depth" doc:"maximum depth of a tree" min:"1" max:"30"`
	Storage      string             `name:"storage" doc:"where Spark caches the data; what does not fit into memory is made again, or is on disk" choices:"memory,memory-disk,disk"`
	DriverMemory parameter.Bytes    `name:"driver_memory" doc:"heap of the driver; without a service, of the executor in it too" min:"512MiB"`
	Local        int                `name:"local" doc:"cores of the executor in the driver (local[n]) where the study has no service" min:"1" max:"64"`
	Steady       parameter.Share    `name:"steady" doc:"trainings are discarded until three in a row differ by at most this share" min:"1%" max:"100%"`
	Discards     int                `name:"discards" doc:"maximum number of trainings discarded" min:"0" max:"1000"`
	Rate         parameter.Rate     `name:"rate" doc:"events of sensors per second; empty is 1000/s"`
	Every        parameter.Duration `name:"every" doc:"interval of decisions on sensors" min:"10ms" max:"1h"`
	Home         string             `name:"home" doc:"Python virtual environment with PySpark; empty is that of ./setup"`
	Java         string             `name:"java" doc:"path of Java for the driver; empty finds Java 17 or 11"`
}

const (
	kmeans   = "kmeans"
	logistic = "logistic"
	forest   = "forest"
	sensors  = "sensors"
)

const usualRate = 1000 // events of sensors per second

func defaults() Parameters {
	return Parameters{
		Algorithm: kmeans, Rows: 100_000, Features: 20, Partitions: 4, Iterations: 20, Clusters: 10, Trees: 10, Depth: 5, Storage: "memory",
		DriverMemory: 1 << 30, Local: 2, Steady: .1, Discards: 15, Every: parameter.Duration(time.Second),
	}
}

// Kind is the workload as the catalog lists it.
func Kind() workload.Kind {
	return workload.Define(workload.Kind{
		Needs:   "PySpark and Java",
		Name:    "sparkml",
		Doc:     "machine learning on Apache Spark: repeated trainings on data in memory, or decisions on a stream",
		Rate:    "operations",
		Metrics: metrics(),
		Speaks:  []string{spark.Protocol},
		Alone:   true,
	}, defaults(), build)
}

func metrics() []measure.Metric {
	lower, higher := measure.LowerIsBetter, measure.HigherIsBetter
	return slices.Concat([]measure.Metric{
		{Name: "train.time", Unit: "s", Doc: "mean elapsed time of a training", Better: lower},
		{Name: "train.max", Unit: "s", Doc: "longest elapsed time of a training", Better: lower},
		{Name: "test.time", Unit: "s", Doc: "mean elapsed time of predictions for the test data", Better: lower},
		{Name: "rows_iterations", Unit: "1/s", Doc: "rows times iterations per second of training; of a forest, rows times trees", Better: higher},
		{Name: "quality", Unit: "1", Doc: "of k-means, mean squared distance of a row to its centre; else share of the test data predicted correctly"},
		{Name: "iterations", Unit: "1", Doc: "mean iterations of a training; of a forest, its trees"},
		{Name: "executor.cpu", Unit: "s", Doc: "mean CPU time of the executors' tasks per training", Better: lower},
		{Name: "gc", Unit: "s", Doc: "mean time of garbage collection during the tasks of a training, summed over tasks", Better: lower},
		{Name: "shuffle.bytes", Unit: "B", Doc: "mean bytes written by shuffles per training", Better: lower},
		{Name: "spill.bytes", Unit: "B", Doc: "mean bytes spilled to disk per training", Better: lower},
		{Name: "trainings", Unit: "1", Doc: "trainings measured"},
		{Name: "discarded", Unit: "1", Doc: "trainings discarded before"},
		{Name: "start.time", Unit: "s", Doc: "elapsed time until the session was there", Better: lower},
		{Name: "data.time", Unit: "s", Doc: "elapsed time until the data was made and cached", Better: lower},
		{Name: "decisions", Unit: "1/s", Doc: "decisions on sensors per second"},
		{Name: "decisions.correct", Unit: "1", Doc: "share of decisions on sensors as the rule has them", Better: higher},
		{Name: "undelivered", Unit: "1", Doc: "events of sensors sent without a decision at the end", Better: lower},
		{Name: measure.GeneratorCPU, Unit: "1", Doc: "CPU utilisation of the driver's thread in Python, which asks for trainings"},
	}, measure.OperationMetrics("operations"), measure.ScheduleMetrics())
}

type learning struct{ Parameters }

func build(p Parameters) (workload.Load, error) {
	switch {
	case p.Rate > 0 && p.Algorithm != sensors:
		return nil, fmt.Errorf("rate is for algorithm %s: trainings follow each other", sensors)
	case p.Partitions > p.Rows:
		return nil, fmt.Errorf("partitions %d exceed rows %d", p.Partitions, p.Rows)
	case p.DriverMemory%(1<<20) != 0:
		return nil, fmt.Errorf("driver_memory %s: must be whole MiB", p.DriverMemory)
	}
	if p.Algorithm == sensors && p.Rate == 0 {
		p.Rate = usualRate
	}
	return &learning{p}, nil
}

// Demand is one training after the other, or the stream of sensors.
func (l *learning) Demand() load.Demand {
	d := load.Demand{Concurrency: 1, Classes: []load.Class{{Share: 1, Bytes: l.size()}}}
	if l.Algorithm == sensors {
		d.Rate, d.Classes[0].Bytes = float64(l.Rate), eventSize
	}
	return d
}

// size is that of the training data, in bytes of numbers.
func (l *learning) size() int64 { return int64(l.Rows) * int64(l.Features) * 8 }

const eventSize = 35 // bytes of a line, about
