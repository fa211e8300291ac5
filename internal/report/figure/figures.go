// Package figure lists the figures of a report; each file is one of them.
package figure

import (
	"plimsoll/internal/report/capacity"
	"plimsoll/internal/report/chart"
	"plimsoll/internal/report/forest"
	"plimsoll/internal/report/meanwhile"
)

// All lists every figure in the order of the page.
func All() []chart.Figure {
	return []chart.Figure{
		forest.Headlines(),
		forest.Tuning(),
		{Name: "throughput", Place: chart.InFigures, Table: barsTable, Draw: drawBars,
			Doc: "Above, the mean of each arm with its 95 % interval, and a dot for each run in the order of execution. Below, its tail latency. A hatched arm missed a declared limit or has no valid trial."},
		{Name: "rate-latency", Place: chart.InFigures, Table: rateLatencyTable, Draw: drawRateLatency,
			Doc: "Each point is one offered rate, or one number of servers; hollow points missed a limit. The peak is where the curve meets the limit. The band is its confidence interval, the thick mark the confirmed rate."},
		capacity.Tiles(),
		capacity.ScaleOut(),
		{Name: "machines", Place: chart.InFigures, Table: machinesTable, Draw: drawMachines,
			Doc: "Rate of each machine, or each server of a service, in each arm: its mean over the trials, and a line from the smallest to the largest. Identical machines with different rates did not share fairly. The table has the CPU time of each guest: vCPUs running, vCPUs ready but waiting for a CPU, and other threads of the hypervisor, in CPUs."},
		{Name: "path", Place: chart.InFigures, Table: pathTable, Draw: drawPath,
			Doc: "Means of each arm. Above, the parts of the latency that clients see, in the order of the path. In the middle, bytes on the devices per byte of the clients, and below each bar the bytes per second and sizes on the way. At the bottom, CPU time. What was not counted is left out."},
		{Name: "faults", Place: chart.InFigures, Table: faultsTable,
			Doc: "Failed operations in the measurement windows of all trials, void ones included, by what the system under test called the fault."},
		{Name: "load-latency", Place: chart.InFigures, Table: loadLatencyTable, Draw: drawLoadLatency,
			Doc: "Each point is one level: its rate and its response time. Beyond the knee of the curve, more load mostly adds queueing."},
		{Name: "percentiles", Place: chart.InFigures, Table: percentilesTable, Draw: drawPercentiles,
			Doc: "One line per run, on a logarithmic scale of the share of slower operations. A line ends where fewer than ten operations lie above it."},
		{Name: "series", Place: chart.InFigures, Table: SeriesTable, Draw: DrawSeries,
			Doc: "Rate over time of each run. The shaded parts, warm-up and what follows the measurement window, do not count. All panels share their axes."},
		meanwhile.Timeline(),
		meanwhile.CPUs(),
		{Name: "runs", Place: chart.InFigures, Table: runsTable, Draw: drawRuns,
			Doc: "Each dot is one trial, in the order of execution; a line joins the trials of an arm. A trend is drift of the testbed, which randomised blocks keep out of the comparison."},
		{Name: "moved", Place: chart.InWhy, Table: movedTable,
			Doc: "Counters that changed by more than the margin, at equal load as they are, otherwise per operation; the most certain first. Those that are alike share a row."},
		{Name: "waterfall", Place: chart.InWhy, Table: waterfallTable, Draw: drawWaterfall,
			Doc: "Change of a metric as the terms of an equation whose logarithms add. Each bar starts where the one before it ends, with the 95 % interval of its own term; the last bar is the whole change. A decomposition locates a change and does not prove a cause."},
		forest.Counters(),
		forest.OtherMetrics(),
		forest.Metrics(),
		{Name: "sight", Place: chart.InFigures, Table: sightTable,
			Doc: "Processors and memory seen from inside the machine in each arm, as reported by lscpu."},
		forest.Published(),
		{Name: "trials", Place: chart.InLedger, Table: trialsTable,
			Doc: "Every trial, void ones included, with its measurement window and the checks that did not pass."},
		{Name: "noise", Place: chart.InNoise, Table: noiseTable,
			Doc: "Coefficient of variation between the trials of an arm, and the smallest effect that so many blocks detect with 80 % power."},
	}
}
