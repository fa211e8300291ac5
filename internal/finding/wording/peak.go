package wording

import (
	"strconv"

	"plimsoll/internal/finding"
	"plimsoll/internal/sentence"
)

// Peaks writes the sentence of each peak.
func Peaks(f *finding.Findings) {
	number := finding.NewLedger(f).Number
	for i := range f.Peaks {
		p := &f.Peaks[i]
		s := sentence.Scene{
			Names:  map[string]string{"arm": f.Label(p.Arm), "word": p.Word, "limit": p.Limiting},
			Prefix: "peak:" + strconv.Itoa(p.Arm), Number: number,
		}
		template := "No sustained rate was found with {arm}: {word}"
		switch {
		case p.Sustained == 0 && p.Estimate == 0 && p.Why != "":
			s.Names["why"] = p.Why
			template = "No rate is sustained with {arm}: {why}"
		case p.Sustained > 0 && p.Step:
			template = "{sustained} is sustained with {arm}: it passed every confirmation run; {high} failed every time ({limit}), and the limit lies between {low} and {high}"
		case p.Sustained > 0 && p.Estimate > 0 && unbounded(p):
			template = "{sustained} is sustained with {arm}: it passed every confirmation run; the limit on {limit} is met at about {estimate}, without an interval"
		case p.Sustained > 0 && p.Estimate > 0:
			template = "{sustained} is sustained with {arm}: it passed every confirmation run; the limit on {limit} is met at {estimate}, between {low} and {high} at {study/level} confidence"
		case p.Sustained > 0:
			template = "At least {sustained} is sustained with {arm}: it passed every confirmation run; the peak itself was not estimated ({word})"
		case p.Estimate > 0 && unbounded(p):
			template = "The limit on {limit} is met at about {estimate} with {arm}, by few probes without an interval; no confirmation run was completed"
		case p.Estimate > 0:
			template = "The limit on {limit} is met at {estimate} with {arm}, between {low} and {high} at {study/level} confidence; no confirmation run was completed"
		}
		switch {
		case p.Sustained == 0 && p.Estimate == 0:
			template += probed(p)
		case p.Why != "" && !p.Step:
			s.Names["why"] = p.Why
			template += ". The search: {why}"
		}
		p.Sentence = s.Compose(template + ".")
	}
}

// unbounded reports whether the probes gave no interval.
func unbounded(p *finding.Peak) bool { return !(p.Low > 0 && p.High > 0) }

// probed describes single probes, if there is nothing else.
func probed(p *finding.Peak) string {
	switch {
	case p.MaxPass > 0 && p.MinFail > 0:
		return ". Single probes passed up to {pass} and failed from {fail}"
	case p.MaxPass > 0:
		return ". Single probes passed up to {pass}"
	case p.MinFail > 0:
		return ". Single probes failed from {fail}"
	}
	return ""
}
