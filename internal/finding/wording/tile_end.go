package wording

import (
	"fmt"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
	"plimsoll/internal/sentence"
)

// TileEnds adds to the answer why each arm carries no more tiles. Of a single trial the answer is one sentence, with the score.
func TileEnds(f *finding.Findings) {
	ledger := finding.NewLedger(f)
	for _, end := range f.TileEnds {
		s := sentence.Scene{Names: map[string]string{"arm": f.Label(end.Arm), "reason": end.Reason}, Number: ledger.Number}
		if once := onceTemplate(ledger, &end); once != "" && len(f.Arms) == 1 {
			f.Sentence = s.Compose(once)
			continue
		}
		template := "More tiles are not carried: {reason}."
		switch {
		case end.Reason == "":
			continue
		case len(f.Arms) > 1:
			template = "With {arm}, more tiles are not carried: {reason}."
		}
		f.Sentence = f.Sentence.Then(s.Compose(template))
	}
}

// onceTemplate is the answer of a growth of tiles in one trial; empty for more trials.
func onceTemplate(ledger *finding.Ledger, end *finding.TileEnd) string {
	arm, tiles := end.Arm, measure.TilesMetric().Name
	if carried := ledger.Summary(tiles, arm); carried == nil || carried.Trials != 1 {
		return ""
	}
	template := fmt.Sprintf("Tiles carried: {%s/mean}", finding.Key(tiles, arm))
	for _, score := range []string{measure.OverallScore, measure.Score} {
		if ledger.Summary(score, arm) != nil {
			template += fmt.Sprintf(", with a score of {%s/mean}", finding.Key(score, arm))
			break
		}
	}
	if end.Reason == "" {
		return template + "; the study allows no more."
	}
	return template + "; {reason}."
}
