package database

import (
	"bytes"
	"strconv"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/measure/foreign"
)

// hammerdbMetrics are those of TPROC-C, then those of TPROC-H. They are no results of TPC benchmarks, whose names stay unused.
func hammerdbMetrics() []measure.Metric {
	return []measure.Metric{
		{Name: "nopm", Unit: "1/min", Doc: "new orders per minute (NOPM) of TPROC-C", Better: measure.HigherIsBetter},
		{Name: "tpm", Unit: "1/min", Doc: "transactions per minute as the database counts them, which differ between databases", Better: measure.Neutral},
		{Name: "query.geomean", Unit: "s", Doc: "geometric mean of the query times of TPROC-H", Better: measure.LowerIsBetter},
		{Name: "query.total", Unit: "s", Doc: "time of the query set of TPROC-H", Better: measure.LowerIsBetter},
	}
}

// Hammerdb is the job report of HammerDB 6.
func Hammerdb() foreign.Format {
	return foreign.Format{
		Name: "hammerdb", Doc: "`hammerdb-job-report-v1`, written by `jobs summaryjson` of HammerDB", Rate: "calls", Metrics: hammerdbMetrics(),
		Absent: "Histograms: quantiles of response times are those of each stored procedure. NOPM counts new orders only and is no result of TPC-C. " +
			"TPM depends on the database and has no better direction. Transaction counts by time are no trials, and are skipped.",
		Sniff: func(head []byte) bool { return bytes.Contains(head, []byte(`"hammerdb-job-report-v1"`)) },
		Parse: parseHammerdb,
	}
}

type hammerdbReport struct {
	Job struct {
		Version   string `json:"hdb_version"`
		Database  string `json:"database_display"`
		Release   string `json:"release"`
		Benchmark string `json:"benchmark"`
		Timestamp string `json:"timestamp"`
	} `json:"job"`
	Config struct {
		Warehouses float64 `json:"warehouses"`
		Users      float64 `json:"virtual_users"`
		Scale      float64 `json:"scale_factor"`
		Rampup     float64 `json:"rampup_minutes"`
		Duration   float64 `json:"duration_minutes"`
	} `json:"benchmark_config"`
	Result struct {
		NOPM    *float64 `json:"nopm"`
		TPM     *float64 `json:"tpm"`
		Geomean *float64 `json:"geomean_seconds"`
		Total   *float64 `json:"total_query_time_seconds"`
		Sets    float64  `json:"query_sets"`
	} `json:"result"`
	Times struct {
		Rows []struct {
			Name  string  `json:"name"`
			Calls float64 `json:"calls"`
			Mean  float64 `json:"avg_ms"`
			Max   float64 `json:"max_ms"`
			P50   float64 `json:"p50_ms"`
			P95   float64 `json:"p95_ms"`
			P99   float64 `json:"p99_ms"`
		} `json:"rows"`
	} `json:"response_times"`
}

func parseHammerdb(t *foreign.Text) ([]foreign.Run, error) {
	documents, err := foreign.Documents[hammerdbReport](t)
	if err != nil {
		return nil, err
	}
	var all []foreign.Run
	for i := range documents {
		all = append(all, documents[i].run())
	}
	return all, nil
}

func (d *hammerdbReport) run() foreign.Run {
	r := foreign.NewRun("HammerDB " + d.Job.Version)
	r.Length, r.Cut = foreign.Duration(60*d.Config.Duration), foreign.Duration(60*d.Config.Rampup)
	if start, err := time.Parse("2006-01-02 15:04:05", d.Job.Timestamp); err == nil {
		r.Start = start
		r.Warn("the time of the start has no time zone, and is taken as UTC")
	}
	r.Levels["hammerdb.benchmark"], r.Levels["hammerdb.database"] = d.Job.Benchmark, d.Job.Database+" "+d.Job.Release
	for name, v := range map[string]float64{"warehouses": d.Config.Warehouses, "virtual_users": d.Config.Users, "scale_factor": d.Config.Scale} {
		if v > 0 {
			r.Levels["hammerdb."+name] = strconv.FormatFloat(v, 'f', -1, 64)
		}
	}
	for name, v := range map[string]*float64{"nopm": d.Result.NOPM, "tpm": d.Result.TPM, "query.geomean": d.Result.Geomean, "query.total": d.Result.Total} {
		if v != nil {
			r.Values[name] = *v
		}
	}
	if d.Result.Sets > 1 {
		r.Warn("the query times are those of several query sets")
	}
	for _, row := range d.Times.Rows {
		profile{row.Name, foreign.Events(row.Calls), row.Mean, row.Max, map[string]float64{"p50": row.P50, "p95": row.P95, "p99": row.P99}}.into(&r)
	}
	return r
}

// profile are the response times of a stored procedure, in ms.
type profile struct {
	name      string
	calls     int64
	mean, max float64
	quantiles map[string]float64
}

func (p profile) into(r *foreign.Run) {
	prefix := r.Class(p.name)
	r.Counts[prefix+"operations"] = p.calls
	r.Values[prefix+"mean"], r.Values[prefix+"max"] = p.mean/1e3, p.max/1e3
	for name, ms := range p.quantiles {
		r.Quantile(prefix+name, ms/1e3, p.calls)
	}
}
