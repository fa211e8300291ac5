package lab

import (
	"slices"
	"strings"

	"plimsoll/internal/collect"
	"plimsoll/internal/factor"
	"plimsoll/internal/parameter"
	"plimsoll/internal/trial"
)

// withCautions adds to the caution of a machine what readers must know of levels of the study, and of settings of its platform and
// groups that factors of the platform vary.
func withCautions(bed collect.TestbedRecord, b *trial.Bench) collect.TestbedRecord {
	say := func(name, level string) {
		i := slices.IndexFunc(b.Catalog.Factors, func(known factor.Factor) bool { return known.Name == name })
		if i < 0 || b.Catalog.Factors[i].Caution == nil {
			return
		}
		if text := b.Catalog.Factors[i].Caution(level); text != "" {
			bed = withCaution(bed, text)
		}
	}
	for _, f := range b.Study.Factors {
		for _, level := range f.Levels {
			say(f.Name, level)
		}
	}
	settings := []parameter.Settings{b.Study.Platform.Settings}
	for _, g := range b.Study.Groups {
		settings = append(settings, g.Settings)
	}
	for _, s := range settings {
		for name, level := range s {
			say(b.Study.Platform.Kind+"."+name, level)
		}
	}
	return bed
}

// withCaution adds a text to the caution, unless it is there already.
func withCaution(bed collect.TestbedRecord, text string) collect.TestbedRecord {
	n := slices.IndexFunc(bed, func(f collect.Fact) bool { return f.Name == CautionFact })
	switch {
	case n < 0:
		return append(bed, collect.Fact{Name: CautionFact, Value: text})
	case !strings.Contains(bed[n].Value, text):
		bed[n].Value += "; " + text
	}
	return bed
}
