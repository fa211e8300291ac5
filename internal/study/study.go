// Package study is what a study says, and the catalog of names. Its room file reads studies.
package study

import (
	"time"

	"plimsoll/internal/collect"
	"plimsoll/internal/document"
	"plimsoll/internal/factor"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
	"plimsoll/internal/workload"
)

// Catalog is everything that a study may name. Package catalog makes the one
// that the product ships.
type Catalog struct {
	Workloads []workload.Kind
	Services  []service.Kind
	Platforms []platform.Kind
	Factors   []factor.Factor
	Sources   []collect.Source
	Monitors  []collect.Monitor
}

// Study is a validated study: every setting is known to its kind, and every level is valid for
// its factor.
type Study struct {
	Name     string `json:"study"`
	Question string `json:"question"`
	Platform Use    `json:"platform"`
	Workload Use    `json:"workload"`
	Service  *Use   `json:"service,omitempty"` // the service under load; nil without one
	Hosted   bool   `json:"hosted,omitempty"`  // the service runs on the host of the machines, whose disks are in it: see platform.Backed
	Monitor  *Use   `json:"monitor,omitempty"` // samples counters beside the machines; nil without one
	// Groups are the kinds of machines; empty for a single machine.
	Groups     []Group     `json:"groups,omitempty"`
	Operations []Operation `json:"operations,omitempty"` // beside tiles
	// Factors in the order of the file. The first level of each is its baseline.
	Factors   []Factor  `json:"factors,omitempty"`
	Commands  []Command `json:"commands,omitempty"`
	Load      Load      `json:"load"`
	Measure   Measure   `json:"measure"`
	Headline  []string  `json:"headline"` // metrics that decide, most important first
	Margin    float64   `json:"margin"`   // smallest effect of interest as a share: 0.02
	Goal      *Goal     `json:"goal,omitempty"`
	Tune      *Tune     `json:"tune,omitempty"`   // nil: the defaults of tune
	Limits    []Limit   `json:"limits,omitempty"` // for run --gate
	Published []Figure  `json:"published,omitempty"`
	Seed      *uint64   `json:"seed,omitempty"` // nil: drawn at the start of a run and printed
	// Combinations are the arms, each a level of every factor; nil for every combination of levels. Package tune
	// sets them: a study file cannot.
	Combinations []map[string]string `json:"combinations,omitempty"`
	Imported     *measure.Imported   `json:"imported,omitempty"` // nil for a study that plimsoll measured
	// Sets are the overrides of the command line, path=value, in order.
	Sets []string `json:"sets,omitempty"`

	levels map[string]document.Mistake // position of each level; empty if the study was not read from a file
}

// Use is a kind from the catalog with its settings. Settings holds only what
// the study gives; the defaults stay with the kind.
type Use struct {
	Kind     string             `json:"kind"`
	Settings parameter.Settings `json:"settings,omitempty"`
}

// Factor is what a study varies.
type Factor struct {
	Name   string   `json:"name"`             // "storage.threads", "host.scheduler"
	Target string   `json:"target,omitempty"` // what follows a colon after the name
	Levels []string `json:"levels"`           // canonical text, at least one; the first is the baseline
	// Parameter is the setting that the factor varies ("threads"), of the
	// workload or of the service; empty for a factor of the machine.
	Parameter string `json:"parameter,omitempty"`
	OfService bool   `json:"of_service,omitempty"` // the setting is the service's
	Group     string `json:"group,omitempty"`      // the group whose background load has the setting
	Restart   bool   `json:"restart,omitempty"`    // from the factor: varied in whole plots
}

// FullName is the name with its target, as written in the study.
func (f Factor) FullName() string {
	if f.Target != "" {
		return f.Name + ":" + f.Target
	}
	return f.Name
}

// Command is a factor made of a user's own commands, which run through sh. The
// word {level} in Apply and Restore stands for the level.
type Command struct {
	Name    string `json:"name"`              // used as factor "command.NAME"
	Read    string `json:"read"`              // prints the level in effect
	Apply   string `json:"apply"`             // sets a level
	Restore string `json:"restore,omitempty"` // empty: Apply with the former level
}

// Load is closed, or has an offered rate or a search.
type Load struct {
	Rate float64 `json:"rate,omitempty"` // operations per second; 0 is a closed loop, unless Peak
	Peak *Peak   `json:"peak,omitempty"` // search for the highest rate within limits
	// Growth searches for the largest number of units within limits; Rate is then that of
	// each server.
	Growth *Growth `json:"growth,omitempty"`
}

// Peak is a search for the highest rate within limits.
type Peak struct {
	Within []Limit `json:"within"` // each with a Max; at least one on a quantile of the response time
	From   float64 `json:"from"`   // rate at which the search begins, 1/s
	To     float64 `json:"to,omitempty"`
}

// Measure is the duration of trials and the number of blocks.
type Measure struct {
	Settle    time.Duration `json:"settle"`              // pause between apply and load
	Warmup    time.Duration `json:"warmup"`              // fixed warm-up; AutoWarmup finds it
	Window    time.Duration `json:"window"`              // minimum measurement window
	Longest   time.Duration `json:"longest"`             // maximum duration of a load, warm-up included
	Interval  time.Duration `json:"interval"`            // of the time series; default derived from Window
	Blocks    int           `json:"blocks,omitempty"`    // fixed number; 0 is auto: planned looks, stop when decided
	Looks     []int         `json:"looks"`               // numbers of blocks at which auto looks
	Precision float64       `json:"precision,omitempty"` // half-width as a share: Stein's two-stage procedure instead of looks
	Time      time.Duration `json:"time,omitempty"`      // budget; 0 is none
	Disk      int64         `json:"disk,omitempty"`      // budget in bytes; 0 is none
	Intervene bool          `json:"intervene,omitempty"` // test whether the best explanation is the cause, by a study of its own
	Retries   int           `json:"retries"`             // maximum number of repeated void trials, in total
	Energy    *Energy       `json:"energy,omitempty"`    // source of the energy of the host; nil for those that the host has
}

// Energy is a source of energy or power that the user names: a file or a command of the machine on which plimsoll runs.
type Energy struct {
	File    string        `json:"file,omitempty"`    // absolute, or a pattern that matches one
	Command string        `json:"command,omitempty"` // for sh
	Unit    string        `json:"unit"`              // as timing.EnergySettings lists them
	Covers  string        `json:"covers,omitempty"`  // what it measures
	Every   time.Duration `json:"every"`             // time between readings
}

// AutoWarmup detects the end of the warm-up by MSER-5.
const AutoWarmup = time.Duration(-1)

// Goal is the goal of tune.
type Goal struct {
	Metric    string            `json:"metric"`
	Direction measure.Direction `json:"direction"`       // HigherIsBetter: most; LowerIsBetter: least
	Floor     []Limit           `json:"floor,omitempty"` // limits that a change must keep: minima, or maxima where lower is better
}

// Figure is a published figure, shown beside the results as context.
type Figure struct {
	Metric string             `json:"metric"`
	Unit   string             `json:"unit,omitempty"`
	Values map[string]float64 `json:"values,omitempty"` // by level
	Change *float64           `json:"change,omitempty"` // second level against the first, as a share
	Note   string             `json:"note"`             // source and wording
}
