package wording

import (
	"strconv"

	"plimsoll/internal/finding"
	"plimsoll/internal/sentence"
)

// ScaleOut sets both sentences of a scale-out.
func ScaleOut(f *finding.Findings) {
	o := f.ScaleOut
	if o == nil {
		return
	}
	first, last := o.Sizes[0].Units, o.Sizes[len(o.Sizes)-1].Units
	s := sentence.Scene{Names: map[string]string{
		"metric": o.Metric.Name, "units": o.Units(), "first units": o.UnitsOf(first), "last units": o.UnitsOf(last), "unit": o.UnitsOf(1), "refusal": o.Refusal,
	}, Prefix: "scale:law", Number: finding.NewLedger(f).Number}
	small, large := "scale:"+strconv.Itoa(first), "scale:"+strconv.Itoa(last)
	end := o.Sizes[len(o.Sizes)-1]
	template := "{metric} still grows at {" + large + "/units} {last units}, the largest size: {" + large + "/mean} against {" + small + "/mean} with {" + small + "/units} {first units}"
	switch stop := o.Stop(); {
	case end.Low == end.High: // no interval
		template = "{metric} is {" + small + "/mean} with {" + small + "/units} {first units} and {" + large + "/mean} with {" + large + "/units} {last units}"
	case stop.Units != last:
		at := "scale:" + strconv.Itoa(stop.Units)
		s.Names["stop units"] = o.UnitsOf(stop.Units)
		template = "{metric} grows up to {" + at + "/units} {stop units}, {" + at + "/mean}; larger sizes show no significant gain ({" + large + "/mean} with {" + large + "/units} {last units})"
		if stop.Units == first {
			template = "{metric} does not grow: {" + small + "/mean} with {" + small + "/units} {first units}, {" + large + "/mean} with {" + large + "/units} {last units}"
		}
	}
	one := "one at the smallest size"
	if first == 1 {
		one = "a single {unit}"
	}
	template += ". With {" + large + "/units} {last units}, each does {" + large + "/efficiency} of the work of " + one
	if end.EfficiencyLow < end.EfficiencyHigh {
		template += ", between {" + large + "/efficiency low} and {" + large + "/efficiency high} at {study/level} confidence"
	}
	template += "."
	if o.Law == nil {
		o.Sentence = s.Compose(template + " There is no forecast: {refusal}.")
		return
	}
	s.Names["why"] = o.Law.NoPeak
	o.Sentence = s.Compose(template)
	o.Law.Sentence = s.Compose(lawTemplate(o.Law) + " Fitted parameters: " + fitted(o.Law.Lambda, "lambda") + ", " + fitted(o.Law.Sigma, "sigma") +
		" and " + fitted(o.Law.Kappa, "kappa") + "; largest deviation of a measured mean: {miss}.")
}

// fitted is the phrase of a parameter. If all bootstrap fits are at its bound, the interval is
// left out.
func fitted(e finding.Estimate, name string) string {
	if e.Low == e.High {
		return name + " {" + name + "} (at its bound)"
	}
	return name + " {" + name + "} (between {" + name + " low} and {" + name + " high})"
}

// lawTemplate is the sentence of the forecast.
func lawTemplate(l *finding.Law) string {
	switch {
	case l.Peak == nil:
		return "The scalability law has no identifiable peak: {why}. Forecast for {reach} {units}: {reach rate}, between {reach rate low} and {reach rate high}; no forecast beyond."
	case l.Peak.Open:
		return "The scalability law puts the peak at {peak} {units} (at least {peak low}, possibly beyond the forecast limit of {reach}), with {rate} (at least {rate low})."
	}
	return "The scalability law puts the peak at {peak} {units}, between {peak low} and {peak high}, with {rate}, between {rate low} and {rate high}; no forecast beyond {reach}."
}
