package report_test

import (
	"time"

	"plimsoll/internal/diagnosis/diagnosistest"
	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/cgroup"
	"plimsoll/internal/hoststat/trace"
	"plimsoll/internal/measure"
)

// hostsOf are the states of a guest of 8 CPUs: the second arm uses one of them alone, a quota throttles
// it from second 3 to 5, and a compiler runs from second 6 to 8. Its database writes a checkpoint. On
// its host a neighbour runs from second 9 to 11.
func hostsOf(f fixture, records []measure.Record) map[int][]*trace.Detail {
	if !f.hosted {
		return nil
	}
	hosts := map[int][]*trace.Detail{}
	for i := range records {
		r := &records[i]
		e := diagnosistest.Healthy(8)
		d := &trace.Detail{Machine: "db", Recording: e.Recording, Made: []trace.Event{{From: -1, To: 4.5, Kind: "checkpoint", Name: "postgresql", Value: 5.5, Unit: "s"}}}
		under := &trace.Detail{Machine: "host", Guests: []int{41}, Recording: diagnosistest.Healthy(4).Recording}
		d.Intervals, under.Intervals = nil, nil
		for second := range 13 {
			d.Intervals, under.Intervals = append(d.Intervals, hostSecond(r.Arm, second)), append(under.Intervals, underSecond(second))
		}
		d.Mean, under.Mean = trace.Combine(d.Intervals), trace.Combine(under.Intervals)
		hosts[r.Trial] = []*trace.Detail{d, under}
		if r.Counters != nil {
			r.Counters["cpu.busy.busiest_share"], r.Counters["cpu.busy.gini"], r.Counters["cpu.busy.cpus90"] = .125+.5*float64(r.Arm), .05+.6*float64(r.Arm), 8-5*float64(r.Arm)
		}
	}
	return hosts
}

func hostSecond(arm, second int) hoststat.Interval {
	i := hoststat.Interval{At: float64(second + 1), Seconds: 1, Groups: []cgroup.Group{{Path: "/plimsoll", Periods: 10}}}
	for cpu := range 8 {
		busy := .2 + .02*float64((cpu+second)%3)
		if arm == 1 {
			busy = map[bool]float64{true: .97, false: .04}[cpu == 2]
		}
		i.CPUs = append(i.CPUs, hoststat.CPU{User: busy, Idle: 1 - busy})
	}
	if second >= 3 && second < 5 && arm == 1 {
		i.Groups[0].ThrottledPeriods = 6
	}
	if second >= 6 && second < 8 {
		i.Processes = append(i.Processes, hoststat.Process{PID: 7, Name: "cc1", User: 1.5})
	}
	return i
}

// underSecond is a second of the host of the guest, which uses two of its CPUs.
func underSecond(second int) hoststat.Interval {
	i := hoststat.Interval{At: float64(second + 1), Seconds: 1, Processes: []hoststat.Process{{PID: 41, Name: "qemu-system-x86", User: 1.4}}}
	for cpu := range 4 {
		busy := .7 - .6*float64(cpu/2)
		if second >= 9 && second < 11 {
			busy = .9
		}
		i.CPUs = append(i.CPUs, hoststat.CPU{User: busy, Idle: 1 - busy})
	}
	if second >= 9 && second < 11 {
		i.Processes = append(i.Processes, hoststat.Process{PID: 7, Name: "ffmpeg", User: 2})
		i.VM = map[string]float64{"oom_kill": float64(second - 9)}
	}
	return i
}

// latencies are the time series with response times.
func (f fixture) latencies(arms map[int]int) func(int) ([]measure.Interval, error) {
	if !f.hosted {
		return nil
	}
	return func(trial int) ([]measure.Interval, error) {
		rec := measure.NewRecorder(nil)
		for n, in := range f.course(arms[trial], trial) {
			h := measure.NewHistogram()
			h.Record(time.Duration(100+n)*time.Microsecond, in.Samples[0].Operations)
			in.Samples[0].Latency = h
			rec.Interval(in)
		}
		return rec.Intervals(), nil
	}
}
