package nginx

import "plimsoll/internal/parameter"

// candidates are the settings to tune first. Source: nginx documentation, "Core functionality" and ngx_http_core_module.
func candidates() []parameter.Candidate {
	return []parameter.Candidate{
		{Setting: "nginx.workers", CPUs: []float64{.5, 1, 2}, Why: "up to the CPUs: one worker uses one CPU"},
		{Setting: "nginx.keepalive_requests", Levels: []string{"1000", "100000"}, Why: "up: fewer new connections"},
		{Setting: "host.sysctl:net.core.somaxconn", Levels: []string{"4096", "16384"}, Why: "up: no connection is refused in a burst"},
	}
}
