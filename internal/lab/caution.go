package lab

import (
	"slices"
	"strings"

	"plimsoll/internal/collect"
	"plimsoll/internal/factor"
	"plimsoll/internal/trial"
)

// withCautions adds to the caution of a machine what readers must know of levels of the study.
func withCautions(bed collect.TestbedRecord, b *trial.Bench) collect.TestbedRecord {
	for _, f := range b.Study.Factors {
		i := slices.IndexFunc(b.Catalog.Factors, func(known factor.Factor) bool { return known.Name == f.Name })
		if i < 0 || b.Catalog.Factors[i].Caution == nil {
			continue
		}
		for _, level := range f.Levels {
			if text := b.Catalog.Factors[i].Caution(level); text != "" {
				bed = withCaution(bed, text)
			}
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
