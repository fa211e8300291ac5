package wording

import (
	"plimsoll/internal/finding"
	"plimsoll/internal/sentence"
)

// TileEnds adds to the answer why each arm carries no more tiles.
func TileEnds(f *finding.Findings) {
	for _, end := range f.TileEnds {
		s := sentence.Scene{Names: map[string]string{"arm": f.Label(end.Arm), "reason": end.Reason}, Number: finding.NewLedger(f).Number}
		template := "More tiles are not carried: {reason}."
		if len(f.Arms) > 1 {
			template = "With {arm}, more tiles are not carried: {reason}."
		}
		f.Sentence = f.Sentence.Then(s.Compose(template))
	}
}
