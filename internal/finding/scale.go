package finding

import (
	"strconv"
	"strings"

	"plimsoll/internal/measure"
)

// ScaleOut is how a rate grows with the number of units of something: instances,
// threads, users.
type ScaleOut struct {
	Factor   string         `json:"factor"`
	Metric   measure.Metric `json:"metric"`
	Sizes    []Size         `json:"sizes"`             // from the fewest units to the most
	Law      *Law           `json:"law,omitempty"`     // nil where Refusal says why
	Refusal  string         `json:"refusal,omitempty"` // why there is no forecast
	Sentence string         `json:"sentence"`
	Numbers  []Number       `json:"numbers"` // the numbers in Sentence
}

// Size is what was measured with one number of units.
type Size struct {
	Units  int     `json:"units"`
	Arm    int     `json:"arm"`
	Trials int     `json:"trials"`
	Mean   float64 `json:"mean"` // geometric, as in the summaries
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	// Efficiency is the rate of one unit as a share of its rate at the smallest size:
	// 1 is the ideal line. The ends are equal to it where there is no interval.
	Efficiency     float64 `json:"efficiency"`
	EfficiencyLow  float64 `json:"efficiencyLow"`
	EfficiencyHigh float64 `json:"efficiencyHigh"`
}

// Law is the Universal Scalability Law fitted to the runs: see stat.USL.
type Law struct {
	Lambda   Estimate   `json:"lambda"` // rate of one unit
	Sigma    Estimate   `json:"sigma"`
	Kappa    Estimate   `json:"kappa"`
	Miss     float64    `json:"miss"` // largest distance of the law from a measured mean, as a share
	Peak     *Estimate  `json:"peak,omitempty"`
	PeakRate *Estimate  `json:"peakRate,omitempty"`
	NoPeak   string     `json:"noPeak,omitempty"` // why there is no Peak
	Curve    []Forecast `json:"curve"`            // the last of them is as far as anything is said
	Sentence string     `json:"sentence"`         // of the parameters
	Numbers  []Number   `json:"numbers"`          // the numbers in Sentence
}

// Estimate is a value with its interval at the level of the findings.
type Estimate struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`           // 0 where Open
	Open  bool    `json:"open,omitempty"` // the upper end lies beyond what may be said
}

// Forecast is the rate by the law with a number of units.
type Forecast struct {
	Units int      `json:"units"`
	Rate  Estimate `json:"rate"`
}

// Reach is the largest number of units of which anything is said.
func (l *Law) Reach() Forecast { return l.Curve[len(l.Curve)-1] }

// Known is a number for people: the half-width of its interval decides its digits.
type Known struct {
	Value, Half float64
	Unit        string
}

// units are what scales, by the last word of the name of a factor, with the word for
// one of them.
var units = map[string]string{
	"instances": "instance", "threads": "thread", "connections": "connection", "workers": "worker", "processes": "process",
	"users": "user", "disks": "disk", "flows": "flow",
}

// Units is the word for what the factor counts: "connections".
func (o *ScaleOut) Units() string { return o.Factor[strings.LastIndexByte(o.Factor, '.')+1:] }

// UnitsOf is the word for n of them: "thread", "threads".
func (o *ScaleOut) UnitsOf(n int) string {
	if n == 1 {
		return units[o.Units()]
	}
	return o.Units()
}

// Value is a number by its name in sentences: of a size, which is named by its number
// of units, or of the "law".
func (o *ScaleOut) Value(what, field string) (k Known, ok bool) {
	if o == nil {
		return Known{}, false
	}
	if what == "law" {
		return o.lawValue(field)
	}
	for _, s := range o.Sizes {
		if strconv.Itoa(s.Units) != what {
			continue
		}
		rate, share := (s.High-s.Low)/2, (s.EfficiencyHigh-s.EfficiencyLow)/2
		k, ok = map[string]Known{
			"units": {float64(s.Units), 0, "1"}, "trials": {float64(s.Trials), 0, "1"},
			"mean": {s.Mean, rate, o.Metric.Unit}, "low": {s.Low, rate, o.Metric.Unit}, "high": {s.High, rate, o.Metric.Unit},
			"efficiency": {s.Efficiency, share, "share"}, "efficiency low": {s.EfficiencyLow, share, "share"}, "efficiency high": {s.EfficiencyHigh, share, "share"},
		}[field]
		return k, ok
	}
	return Known{}, false
}

func (o *ScaleOut) lawValue(field string) (k Known, ok bool) {
	if o.Law == nil {
		return Known{}, false
	}
	reach := o.Law.Reach()
	switch field {
	case "reach":
		return Known{float64(reach.Units), 0, "1"}, true
	case "miss":
		return Known{o.Law.Miss, o.Law.Miss / 10, "share"}, true // two digits are enough
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
	if of == nil || of.Open && end == " high" {
		return Known{}, false
	}
	k = Known{Value: of.Value, Half: (of.High - of.Low) / 2, Unit: o.Metric.Unit}
	if of.Open {
		k.Half = of.Value - of.Low
	}
	if name == "sigma" || name == "kappa" || name == "peak" {
		k.Unit = "1"
	}
	switch end {
	case " low":
		k.Value = of.Low
	case " high":
		k.Value = of.High
	}
	return k, true
}

// text is a number as it must stand in a sentence.
func (o *ScaleOut) text(what, field string) (string, bool) {
	k, ok := o.Value(what, field)
	return Measured(k.Value, k.Value-k.Half, k.Value+k.Half, k.Unit), ok
}

// say writes both sentences.
func (o *ScaleOut) say(f *Findings) {
	with := *f
	with.ScaleOut = o
	first, last := o.Sizes[0].Units, o.Sizes[len(o.Sizes)-1].Units
	s := scene{names: map[string]string{
		"metric": o.Metric.Name, "units": o.Units(), "first units": o.UnitsOf(first), "last units": o.UnitsOf(last), "unit": o.UnitsOf(1), "refusal": o.Refusal,
	}, prefix: "scale:law", text: newLedger(&with).text}
	small, large := "scale:"+strconv.Itoa(first), "scale:"+strconv.Itoa(last)
	end := o.Sizes[len(o.Sizes)-1]
	template := "{metric} still grows at {" + large + "/units} {last units}, the largest size: {" + large + "/mean} against {" + small + "/mean} with {" + small + "/units} {first units}"
	switch stop := o.Stop(); {
	case end.Low == end.High: // one run shows no growth
		template = "{metric} is {" + small + "/mean} with {" + small + "/units} {first units} and {" + large + "/mean} with {" + large + "/units} {last units}"
	case stop.Units != last:
		at := "scale:" + strconv.Itoa(stop.Units)
		s.names["stop units"] = o.UnitsOf(stop.Units)
		template = "{metric} grows up to {" + at + "/units} {stop units}, {" + at + "/mean}; no larger size is shown to carry more ({" + large + "/mean} with {" + large + "/units} {last units})"
		if stop.Units == first {
			template = "{metric} does not grow: {" + small + "/mean} with {" + small + "/units} {first units}, {" + large + "/mean} with {" + large + "/units} {last units}"
		}
	}
	template += ". With {" + large + "/units} {last units}, each does {" + large + "/efficiency} of the work of one at the smallest size"
	if end.EfficiencyLow < end.EfficiencyHigh {
		template += ", between {" + large + "/efficiency low} and {" + large + "/efficiency high} at {study/level} confidence"
	}
	template += "."
	if o.Law == nil {
		o.Sentence, o.Numbers = s.compose(template + " There is no forecast: {refusal}.")
		return
	}
	s.names["why"] = o.Law.NoPeak
	o.Sentence, o.Numbers = s.compose(template)
	o.Law.Sentence, o.Law.Numbers = s.compose(o.Law.template() + " The law fits with " + o.Law.Lambda.template("lambda") + ", " + o.Law.Sigma.template("sigma") +
		" and " + o.Law.Kappa.template("kappa") + "; no measured mean is farther from it than {miss}.")
}

// Stop is the smallest size above which none is shown to carry more: the interval of
// the highest mean begins within its own.
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

// template is the phrase of a parameter. One that all fits hold at its bound has no
// interval worth the name.
func (e Estimate) template(name string) string {
	if e.Low == e.High {
		return name + " {" + name + "} (at its bound)"
	}
	return name + " {" + name + "} (between {" + name + " low} and {" + name + " high})"
}

// template is the sentence of the forecast.
func (l *Law) template() string {
	switch {
	case l.Peak == nil:
		return "The scalability law names no peak: {why}; with {reach} {units} it would be {reach rate}, between {reach rate low} and {reach rate high}, and nothing is said beyond."
	case l.Peak.Open:
		return "The scalability law puts the peak at {peak} {units}, at least at {peak low} and perhaps beyond {reach}, of which nothing is said, with {rate}, at least {rate low}."
	}
	return "The scalability law puts the peak at {peak} {units}, between {peak low} and {peak high}, with {rate}, between {rate low} and {rate high}; nothing is said beyond {reach}."
}
