package judge

import (
	"plimsoll/internal/finding"
	"plimsoll/internal/finding/audit"
	"plimsoll/internal/finding/certificate"
	"plimsoll/internal/finding/compare"
	"plimsoll/internal/finding/table"
	"plimsoll/internal/finding/wording"
)

// Imported judges results of another tool. Nothing is explained: rules need the settings of plimsoll's own loads.
func Imported(c table.Case) *finding.Findings {
	t := table.New(c)
	f := &finding.Findings{
		Format: finding.Format,
		Study:  c.Study.Name, Question: c.Study.Question, Seed: c.Plan.Seed, Arms: c.Plan.Arms,
		Level: c.Plan.Level, Error: c.Plan.Alpha(), Least: c.Plan.Least(), Margin: c.Study.Margin, Planned: c.Plan.Most,
		Blocks: t.CompleteBlocks(), Trials: len(t.Records), Void: t.Void(),
	}
	f.Summaries = compare.Summaries(t)
	compare.Unordered(f, t)
	wording.Comparisons(f)
	f.Certificate = certificate.Imported(t)
	wording.Answer(f, c.Study.Headline[0])
	f.Audit = audit.Of(f, nil)
	return f
}
