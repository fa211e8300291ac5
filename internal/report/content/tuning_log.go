package content

import (
	"fmt"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/quantity"
	"plimsoll/internal/report"
)

// TuningLog lists what a tuning did beside its rounds: races of levels, interaction checks, and what was not tried, with
// the reasons.
func TuningLog(t *finding.Tuning) (lines []string) {
	for _, l := range t.Violated {
		lines = append(lines, "The settings before violate the floor "+l.Limit)
	}
	for i := range t.Searches {
		lines = append(lines, raceText(&t.Searches[i]))
	}
	for i := range t.Checks {
		lines = append(lines, checkText(&t.Checks[i]))
	}
	for _, idea := range t.NotTried {
		what := idea.Factor
		if idea.Level != "" {
			what += " " + idea.Level
		}
		lines = append(lines, "Not tried: "+what+": "+idea.Reason)
	}
	return lines
}

// raceText is a race of levels: the estimate of each, and why it left the race.
func raceText(s *finding.Search) string {
	var levels []string
	for _, l := range s.Levels {
		text := fmt.Sprintf("%s %s → %s", l.Factor, l.From, l.Level)
		if l.Blocks > 0 {
			text += fmt.Sprintf(" %s ± %s", percent(l.Gain), strings.TrimPrefix(percent(l.Error), "+"))
		}
		levels = append(levels, text+" ("+l.Outcome+")")
	}
	return fmt.Sprintf("Race of %s, estimates to choose by: %s", report.Plural(len(s.Levels), "level", "levels"), strings.Join(levels, "; "))
}

// checkText is an interaction check: the gain of the changes together, and of each beside the others.
func checkText(c *finding.Interplay) string {
	gain := func(c finding.Contribution) string {
		return fmt.Sprintf("%s, at least %s", percent(c.Gain), percent(c.Bound))
	}
	text := fmt.Sprintf("Interaction check on %s: together %s", report.Plural(c.Blocks, "fresh block", "fresh blocks"), gain(c.Together))
	for _, one := range c.Alone {
		text += fmt.Sprintf("; %s beside the others %s", one.Factor, gain(one))
	}
	if c.Dropped != "" {
		text += "; " + c.Dropped + " was taken back"
	}
	return text
}

// percent is a share with a minus sign as the rest of the report has it.
func percent(v float64) string { return strings.ReplaceAll(quantity.Percent(v), "-", "−") }
