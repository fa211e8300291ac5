package finding

import (
	"strconv"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/sentence"
)

// ScaleOut is the growth of a rate with a number of units: instances, threads, users.
type ScaleOut struct {
	Factor  string         `json:"factor"`
	Metric  measure.Metric `json:"metric"`
	Sizes   []Size         `json:"sizes"`             // from the fewest units to the most
	Law     *Law           `json:"law,omitempty"`     // nil if refused
	Refusal string         `json:"refusal,omitempty"` // why there is no forecast
	sentence.Sentence
}

// Size is the measurement at one number of units.
type Size struct {
	Units  int     `json:"units"`
	Arm    int     `json:"arm"`
	Trials int     `json:"trials"`
	Mean   float64 `json:"mean"` // geometric, as in the summaries
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	// Efficiency is the rate per unit as a share of that at the smallest size: 1 is linear
	// scaling. The ends are equal to it without an interval.
	Efficiency     float64 `json:"efficiency"`
	EfficiencyLow  float64 `json:"efficiencyLow"`
	EfficiencyHigh float64 `json:"efficiencyHigh"`
}

// Law is the Universal Scalability Law fitted to the runs: see curve.USL.
type Law struct {
	Lambda   Estimate   `json:"lambda"` // rate of one unit
	Sigma    Estimate   `json:"sigma"`
	Kappa    Estimate   `json:"kappa"`
	Miss     float64    `json:"miss"` // largest deviation of the law from a measured mean, as a share
	Peak     *Estimate  `json:"peak,omitempty"`
	PeakRate *Estimate  `json:"peakRate,omitempty"`
	NoPeak   string     `json:"noPeak,omitempty"` // why there is no Peak
	Curve    []Forecast `json:"curve"`            // up to the forecast limit
	sentence.Sentence
}

// Estimate is a value with its interval at the level of the findings.
type Estimate struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`           // 0 where Open
	Open  bool    `json:"open,omitempty"` // the upper end is beyond the forecast's range
}

// Forecast is the rate by the law with a number of units.
type Forecast struct {
	Units int      `json:"units"`
	Rate  Estimate `json:"rate"`
}

// Reach is the forecast for the largest number of units.
func (l *Law) Reach() Forecast { return l.Curve[len(l.Curve)-1] }

// units are the units that scale, by the last word of a factor's name, with the singular.
var units = map[string]string{
	"instances": "instance", "threads": "thread", "connections": "connection", "workers": "worker", "processes": "process",
	"users": "user", "disks": "disk", "flows": "flow",
}

// CountsUnits reports whether the levels of a factor are numbers of something that scales.
func CountsUnits(factor string) bool { return units[lastWord(factor)] != "" }

func lastWord(factor string) string { return factor[strings.LastIndexByte(factor, '.')+1:] }

// Units is the name of the factor's units: "connections".
func (o *ScaleOut) Units() string { return lastWord(o.Factor) }

// UnitsOf is the word for n of them: "thread", "threads".
func (o *ScaleOut) UnitsOf(n int) string {
	if n == 1 {
		return units[o.Units()]
	}
	return o.Units()
}

// Number is a number by its name: of a size, which is named by its number of units, or
// of the "law".
func (o *ScaleOut) Number(what, field string) (n sentence.Number, ok bool) {
	if o == nil {
		return n, false
	}
	if what == "law" {
		return o.lawNumber(field)
	}
	for _, s := range o.Sizes {
		if strconv.Itoa(s.Units) != what {
			continue
		}
		switch field {
		case "units":
			return whole(s.Units), true
		case "trials":
			return whole(s.Trials), true
		}
		if end, found := strings.CutPrefix(field, "efficiency"); found {
			return Estimate{Value: s.Efficiency, Low: s.EfficiencyLow, High: s.EfficiencyHigh}.number(end, "share")
		}
		rate := Estimate{Value: s.Mean, Low: s.Low, High: s.High}
		if end, known := map[string]string{"mean": "", "low": " low", "high": " high"}[field]; known {
			return rate.number(end, o.Metric.Unit)
		}
	}
	return n, false
}

func (o *ScaleOut) lawNumber(field string) (n sentence.Number, ok bool) {
	if o.Law == nil {
		return n, false
	}
	reach := o.Law.Reach()
	switch field {
	case "reach":
		return whole(reach.Units), true
	case "miss":
		return measured(o.Law.Miss, o.Law.Miss*0.9, o.Law.Miss*1.1, "share"), true // two digits
	}
	name, end := field, ""
	for _, suffix := range []string{" low", " high"} {
		if cut, found := strings.CutSuffix(field, suffix); found {
			name, end = cut, suffix
		}
	}
	of := map[string]*Estimate{
		"lambda": &o.Law.Lambda, "sigma": &o.Law.Sigma, "kappa": &o.Law.Kappa,
		"peak": o.Law.Peak, "rate": o.Law.PeakRate, "reach rate": &reach.Rate,
	}[name]
	if of == nil {
		return n, false
	}
	unit := o.Metric.Unit
	if name == "sigma" || name == "kappa" || name == "peak" {
		unit = "1"
	}
	return of.number(end, unit)
}

// number is the estimate (""), or its " low" or " high" end, with the precision of its
// interval. An open end has no number.
func (e Estimate) number(end, unit string) (n sentence.Number, ok bool) {
	half := (e.High - e.Low) / 2
	if e.Open {
		half = e.Value - e.Low
	}
	v := e.Value
	switch end {
	case "":
	case " low":
		v = e.Low
	case " high":
		v = e.High
	default:
		return n, false
	}
	return measured(v, v-half, v+half, unit), !e.Open || end != " high"
}

// Stop is the smallest size above which no size is significantly better: the interval of the
// highest mean begins within its own.
func (o *ScaleOut) Stop() Size {
	most := o.Sizes[0]
	for _, s := range o.Sizes {
		if s.Mean > most.Mean {
			most = s
		}
	}
	for _, s := range o.Sizes {
		if s.High >= most.Low {
			return s
		}
	}
	return most
}
