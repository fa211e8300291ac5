package desktop

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/workload/desktop/rule"
)

// conclude records the results of the sessions, once they have ended.
func (w *day) conclude(out *measure.Recorder) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ran := time.Since(w.began)
	out.Value("baseline", w.known.baseline())
	if v, ok := w.response(ran); ok {
		out.Value("response", v)
		out.Value("response.excess", max(0, v-w.known.baseline()))
	}
	out.Value("sessions", float64(w.active))
	out.Value("stuck", float64(len(w.stuck)))
	out.Value("lost", float64(len(w.lost)))
	if len(w.logons) > 0 {
		out.Value("logon.mean", measure.Mean(w.logons))
		out.Value("logon.max", slices.Max(w.logons))
	}
	w.resources(out, ran)
	joined := 0
	for _, p := range w.people {
		if p.joined {
			joined++
		}
	}
	out.Observe("desktop.sessions", strconv.Itoa(joined))
	out.Observe("desktop.profile", w.of.Profile)
	out.Observe(w.of.observed(), w.known.String())
	w.check(out)
	if w.of.Ramp > 0 {
		w.published(out)
	}
}

// response is the weighted sum of the mean times of the operations, without those of the first part of the load; false if one of
// them has none. One that was stuck counts as long as it may take.
func (w *day) response(ran time.Duration) (float64, bool) {
	sums, counts := make([]float64, len(w.of.loop)), make([]float64, len(w.of.loop))
	for _, o := range w.done {
		if float64(o.at) >= measure.Settling*float64(ran) {
			sums[o.class] += o.seconds
			counts[o.class]++
		}
	}
	for i := range sums {
		if counts[i] == 0 {
			return 0, false
		}
		sums[i] /= counts[i]
	}
	return w.known.response(sums), true
}

// resources records what the sessions took and what they waited for.
func (w *day) resources(out *measure.Recorder, ran time.Duration) {
	var cpu time.Duration
	var memory []float64
	for _, p := range w.people {
		cpu += max(0, p.total-p.used)
		if p.memory > 0 {
			memory = append(memory, float64(p.memory))
		}
	}
	if n := float64(len(w.done)) / float64(len(w.of.loop)); n > 0 {
		out.Value("loop.cpu", cpu.Seconds()/n)
	}
	if len(memory) > 0 {
		out.Value("session.memory", measure.Mean(memory))
	}
	for resource, total := range pressures() {
		if before, ok := w.before[resource]; ok && ran > 0 {
			out.Value("waited."+resource, min(1, max(0, (total-before).Seconds()/ran.Seconds())))
		}
	}
}

// check records what the sessions were measured with, and whether they were whole.
func (w *day) check(out *measure.Recorder) {
	out.Check(measure.Check{Name: "weights", State: measure.Pass, Detail: w.known.describe()})
	groups := measure.Check{Name: "control groups", State: measure.Pass, Detail: "each session had one of its own"}
	if w.grouped < len(w.logons) {
		groups.State = measure.Unknown
		groups.Detail = fmt.Sprintf("%d of %d sessions had none of their own: their CPU time is that of commands that ended, their memory that of the largest process", len(w.logons)-w.grouped, len(w.logons))
	}
	out.Check(groups)
	detail := "each operation that ended gave the right one"
	if w.wrong != nil {
		detail = w.wrong.Error()
	}
	out.Check(measure.DataCheck("results", w.wrong == nil, detail))
	whole := measure.Check{Name: "sessions", State: measure.Pass, Detail: fmt.Sprintf("%d worked to the end, %d were stuck", w.active, len(w.stuck))}
	if len(w.lost) > 0 {
		whole.Detail = fmt.Sprintf("%s: others killed its processes", numbered(w.lost))
		if whole.State = measure.Fail; w.of.Ramp > 0 || w.starved { // a ramp corrects its result; lack of memory is an answer
			whole.State = measure.Pass
		}
	}
	out.Check(whole)
}

func numbered(sessions []int) string {
	slices.Sort(sessions)
	var all []string
	for _, n := range sessions {
		all = append(all, strconv.Itoa(n))
	}
	if len(all) == 1 {
		return "session " + all[0] + " was lost"
	}
	return "sessions " + strings.Join(all, ", ") + " were lost, of each of them"
}

// published records what the published rules say of a ramp.
func (w *day) published(out *measure.Recorder) {
	most := 0
	for _, s := range w.samples {
		most = max(most, s.Sessions)
	}
	period := mean(w.periods)
	for _, r := range rule.All() {
		a := r.Judge(w.known.loops, w.samples)
		check := measure.Check{Name: "sessions by the " + r.Title, State: measure.Pass}
		if !a.Judged {
			check.State = measure.Unknown
			check.Detail = fmt.Sprintf("too few loops ended to tell (%d): raise measure.longest or desktop.ramp", len(w.samples))
			out.Check(check)
			continue
		}
		out.Value(r.Name+".baseline", a.Baseline)
		check.Detail = fmt.Sprintf("not reached by %d sessions: the average is %.3g s, the limit %.3g s, the baseline %.3g s", most, a.Average, a.Limit, a.Baseline)
		if a.Reached {
			lag := rule.Lag(a.Sessions, period, time.Duration(w.of.Ramp))
			out.Value(r.Name+".sessions", float64(a.Sessions))
			out.Value(r.Name+".corrected", rule.Corrected(a.Sessions, len(w.stuck), len(w.lost)))
			out.Value(r.Name+".lag", lag)
			check.Detail = fmt.Sprintf("%d: with one more the average was %.3g s, the limit is %.3g s, the baseline %.3g s; the average is late, which overstates the sessions by about %.2g",
				a.Sessions, a.Average, a.Limit, a.Baseline, lag)
		}
		if period > time.Duration(w.of.Ramp) {
			check.Detail += fmt.Sprintf("; sessions join faster (%s) than they end loops (%s): raise desktop.ramp", w.of.Ramp, period.Round(time.Second/10))
		}
		out.Check(check)
	}
}

func mean(all []time.Duration) time.Duration {
	sum := 0.
	for _, d := range all {
		sum += float64(d)
	}
	return time.Duration(math.Round(sum / max(1, float64(len(all)))))
}
