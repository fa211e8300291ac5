package content

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/quantity"
	"plimsoll/internal/report"
	"plimsoll/internal/sentence"
	"plimsoll/internal/study"
)

// Method describes the method in words, from the plan.
func Method(s *report.Sources) []sentence.Sentence {
	return slices.DeleteFunc([]sentence.Sentence{
		order(s), stopping(s), trialMethod(s), inference(s), judgement(s),
	}, func(p sentence.Sentence) bool { return p.Text == "" })
}

func weak(s *report.Sources) bool {
	for _, c := range s.Findings.Headlines {
		if c.NotRandomised {
			return true
		}
	}
	return false
}

func order(s *report.Sources) sentence.Sentence {
	switch {
	case weak(s):
		return s.Say("The sides were measured apart and not in random order: any other change between them looks like an effect. This is weaker than a study and never a verification.")
	case s.Plan == nil:
		return sentence.Sentence{}
	case s.Arms() == 1:
		return s.Say("There is one arm and no comparison; trials: {study/trials}.")
	case slices.ContainsFunc(s.Plan.Study.Factors, func(f study.Factor) bool { return f.Restart }):
		return s.Say("Each block runs each of the {study/arms} arms. A factor that needs a restart makes whole plots, with the arms inside (split plot). Both are in random order, balanced over blocks, drawn from seed {study/seed}. Trials: {study/trials}, void: {study/void}; complete blocks: {study/blocks}.")
	}
	return s.Say("Each block runs each of the {study/arms} arms once, in random order drawn from seed {study/seed}. The order is balanced over blocks: every arm runs in every slot, and after every other arm, equally often. Trials: {study/trials}, void: {study/void}; complete blocks: {study/blocks}.")
}

func stopping(s *report.Sources) sentence.Sentence {
	switch {
	case s.Plan == nil || s.Arms() == 1 && len(s.Plan.Looks) == 0 || s.Study != nil && s.Study.Imported != nil:
		return sentence.Sentence{}
	case s.Study != nil && s.Study.Measure.Precision > 0:
		return s.Say("The study asks for a precision of {study/precision}: the standard deviation of a pilot fixes the number of blocks (Stein’s two-stage procedure). The intervals use that standard deviation alone.")
	case len(s.Plan.Looks) == 0:
		return s.Say("The number of blocks was fixed before the start: {study/planned}.")
	}
	var looks []string
	for i := range s.Plan.Looks {
		looks = append(looks, fmt.Sprintf("{study/look %d}", i+1))
	}
	last := len(looks) - 1
	list := looks[0]
	if last > 0 {
		list = strings.Join(looks[:last], ", ") + " and " + looks[last]
	}
	return s.Say("Looks were planned after " + list + " blocks; the study stops at the first that decides every headline against the margin. The intervals hold at {study/level} confidence over all looks and headlines together: at most {study/false alarms} of studies without an effect report one.")
}

func trialMethod(s *report.Sources) sentence.Sentence {
	if s.Study == nil {
		return sentence.Sentence{}
	}
	if s.Study.Imported != nil {
		return s.Say("The results were imported from files of another tool: plimsoll neither set the levels nor read them back, and judged neither warm-up nor drift. A run of the tool is a trial; seconds within it are none.")
	}
	warm := "warm-up is cut by MSER-5, and the rest must show no drift, else the load continues up to {study/longest}. Without a steady state a trial gives no result"
	if s.Study.Measure.Warmup != study.AutoWarmup {
		warm = "a fixed warm-up of {study/warmup} is discarded"
	}
	const many = "A trial applies its levels, reads them back where they take effect, settles for {study/settle} and searches. There, "
	switch {
	case s.Study.Load.Peak != nil:
		return s.Say(many + "it offers one rate after another in an open loop, each for at least {study/window}, or until it has surely passed or failed. The first fifth of each is discarded.")
	case s.Study.Load.Growth.Tiles():
		return s.Say(many + "it adds tiles, each of one machine of every group with its own service, until one more misses a limit of a group twice. Each number of tiles is loaded for at least {study/window}, after a first fifth that is discarded. What makes the load runs beside the services, and is part of a tile.")
	case s.Study.Load.Growth != nil:
		units := s.Study.Load.Growth.Units()
		return s.Say(many + "it adds " + units + ", each with the same load, until one more misses the limits twice. Each number of " + units + " is loaded for at least {study/window}, after a first fifth that is discarded.")
	}
	return s.Say("A trial applies its levels, reads them back where they take effect, settles for {study/settle} and loads: " + warm + ". At least {study/window} counts. " + loop(s.Study))
}

// paced is the load of a study in a few words.
func paced(of *study.Study) string {
	switch rate, think, varied := of.Pacing(); {
	case varied:
		return "as the levels say"
	case rate > 0:
		return report.Amount(rate, 0, "1/s") + ", open loop"
	case think > 0:
		return "closed loop, think time " + report.Amount(think.Seconds(), 0, "s")
	}
	return "closed loop"
}

// loop says when operations start.
func loop(of *study.Study) string {
	switch rate, think, varied := of.Pacing(); {
	case varied:
		return "Arms differ in their rate or think time: where a rate is offered, latency counts from when an operation should have started."
	case rate > 0:
		return "The load is open, at {study/rate}: latency counts from when an operation should have started."
	case think > 0:
		return "The load is a closed loop: the next operation starts {study/think} after one ends, so latency is at the load that each arm reaches."
	}
	return "The load is a closed loop: the next operation starts when one ends, so latency is at the load that each arm reaches."
}

func inference(s *report.Sources) sentence.Sentence {
	if len(s.Findings.Headlines) == 0 {
		return s.Say("The trial is the unit of inference: means are over one value per trial, with {study/summary level} t intervals.")
	}
	if weak(s) {
		return s.Say("The trial is the unit of inference. Ratios are of geometric means, with Welch’s t interval.")
	}
	removed := "The effect of the order is estimated and removed."
	if slices.ContainsFunc(s.Findings.Headlines, func(h finding.Comparison) bool { return h.Covariate != nil && !h.Covariate.Unbalanced }) {
		removed = "The effects of the order, and of CPU time that the hypervisor gave to others, are estimated and removed."
	}
	return s.Say("The trial is the unit of inference, never the second or the request. Effects are log-ratios from robust regressions (Tukey’s biweight) of the differences within blocks and of the individual trials; the narrower interval counts. " + removed)
}

func judgement(s *report.Sources) sentence.Sentence {
	if len(s.Findings.Headlines) == 0 {
		return sentence.Sentence{}
	}
	return s.Say("The margin, the smallest effect of interest, is {study/margin}. Better or worse: the whole interval lies beyond it. Equivalent: the whole interval lies inside. Intervals of headlines are simultaneous; everything else is exploratory (Benjamini-Hochberg) and grey. Fewer than {study/least} blocks give no verdict.")
}

// Line is a name with what it says.
type Line struct {
	Name  string
	Value string
}

// groupLine is one kind of the machines of a study with a workload.
func groupLine(g study.Group, of study.Use) Line {
	l := Line{"Machines", quantity.Count(g.Machines)}
	if g.Name != "" {
		l.Name = "Group " + g.Name
		l.Value = report.Plural(g.Machines, "machine", "machines")
	}
	switch {
	case (g.Workload != nil || g.Subject) && (len(g.Limits) > 0 || g.Reference > 0):
		l.Value += " of each tile, with " + use(*cmp.Or(g.Workload, &of))
	case g.Workload != nil:
		l.Value += ", beside what is measured, with " + use(*g.Workload)
	case g.Subject && g.Name != "":
		l.Value += ", with the workload"
	}
	if g.Service != nil {
		l.Value += ", on " + use(*g.Service)
	}
	if g.Elastic != nil {
		l.Value += ", " + g.Elastic.String()
	}
	for _, limit := range g.Limits {
		l.Value += ", " + limit.String()
	}
	if g.Reference > 0 {
		l.Value += ", reference " + report.Amount(g.Reference, 0, "1/s")
	}
	if g.Serves {
		l.Value += ", with the service"
	}
	for _, name := range slices.Sorted(maps.Keys(g.Settings)) {
		l.Value += ", " + name + " " + g.Settings[name]
	}
	return l
}

// parts are the platform, and the workload and the service, which members of a tile have of their own.
func parts(st *study.Study) []Line {
	lines := []Line{{"Platform", use(st.Platform)}}
	if !st.Tiled() {
		lines = append(lines, Line{"Workload", use(st.Workload)})
	}
	if st.Service != nil {
		lines = append(lines, Line{"Service", use(*st.Service)})
	}
	return lines
}

// Asked is the definition of the study.
func Asked(s *report.Sources) []Line {
	st := s.Study
	if st == nil {
		return nil
	}
	if st.Imported != nil {
		return imported(s)
	}
	lines := parts(st)
	for _, g := range st.Groups {
		lines = append(lines, groupLine(g, st.Workload))
	}
	for _, f := range st.Factors {
		name := "Factor " + f.FullName()
		levels := strings.Join(f.Levels, ", ")
		if len(f.Levels) > 1 {
			levels = f.Levels[0] + " (baseline), " + strings.Join(f.Levels[1:], ", ")
		}
		lines = append(lines, Line{name, levels})
	}
	load := paced(st)
	kept := func(within []study.Limit) string {
		var all []string
		for _, l := range within {
			all = append(all, withUnits(s, l))
		}
		return strings.Join(all, " and ")
	}
	switch {
	case st.Load.Peak != nil:
		load = "search for the highest rate with " + kept(st.Load.Peak.Within)
	case st.Load.Growth.Tiles():
		load = "tiles are added while every group keeps its limits"
	case st.Load.Growth != nil:
		load = st.Load.Growth.Units() + " are added, each with the same load, while " + kept(st.Load.Growth.Within) + " are kept"
	}
	lines = append(lines, Line{"Load", load})
	var heads []string
	for _, h := range st.Headline {
		switch m := s.ByName[h]; m.Better {
		case "higher":
			heads = append(heads, h+" (higher is better)")
		case "lower":
			heads = append(heads, h+" (lower is better)")
		default:
			heads = append(heads, h)
		}
	}
	lines = append(lines, Line{"Headline", strings.Join(heads, ", ")}, Line{"Margin", report.Typeset(quantity.Share(st.Margin))})
	if g := st.Goal; g != nil {
		lines = append(lines, Line{"Goal", goal(s, g)})
	}
	for _, l := range st.Limits {
		lines = append(lines, Line{"Limit", withUnits(s, l)})
	}
	return lines
}

// imported is what is known of results of another tool.
func imported(s *report.Sources) []Line {
	st := s.Study
	lines := []Line{{"Imported from", strings.Join(st.Imported.Tools, ", ")}, {"Settings", use(st.Workload)}}
	for _, f := range st.Factors {
		lines = append(lines, Line{"Factor " + f.FullName(), strings.Join(f.Levels, ", ")})
	}
	lines = append(lines, Line{"Headline", strings.Join(st.Headline, ", ")}, Line{"Margin", report.Typeset(quantity.Share(st.Margin))})
	if st.Imported.Absent != "" {
		lines = append(lines, Line{"Not in the files", st.Imported.Absent})
	}
	return lines
}

// use is a kind with its settings.
func use(u study.Use) string {
	var parts []string
	for _, name := range report.SortedKeys(u.Settings) {
		value := u.Settings[name]
		var list []string
		if json.Unmarshal([]byte(value), &list) == nil { // settings that are lists are kept as JSON
			value = strings.Join(list, " and ")
		}
		parts = append(parts, name+" "+value)
	}
	if parts == nil {
		return u.Kind
	}
	return u.Kind + ": " + strings.Join(parts, ", ")
}

func goal(s *report.Sources, g *study.Goal) string {
	word := map[bool]string{true: "maximise ", false: "minimise "}[g.Direction == "higher"]
	text := word + g.Metric
	for _, l := range g.Floor {
		text += ", with " + withUnits(s, l)
	}
	return text
}

func withUnits(s *report.Sources, l study.Limit) string {
	unit := s.ByName[l.Metric].Unit
	switch {
	case l.Min != nil && l.Max != nil:
		return l.Metric + " from " + report.Amount(*l.Min, 0, unit) + " to " + report.Amount(*l.Max, 0, unit)
	case l.Min != nil:
		return l.Metric + " at least " + report.Amount(*l.Min, 0, unit)
	case l.Max != nil:
		return l.Metric + " at most " + report.Amount(*l.Max, 0, unit)
	}
	return l.Metric
}
