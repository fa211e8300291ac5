package serve

import (
	"bytes"
	"net/http"
	"strings"
	"time"

	"plimsoll/internal/exposition"
	"plimsoll/internal/history/metrics"
)

// metrics is the state of the runs for Prometheus.
func (s *Server) metrics(r *http.Request) (answer, error) {
	runs, err := s.list(r.Context())
	if err != nil {
		return answer{}, err
	}
	var out bytes.Buffer
	open := strings.Contains(r.Header.Get("Accept"), "application/openmetrics-text")
	if err := exposition.Write(&out, append(metrics.Families(runs), s.meters.families(runs, time.Now())...), open); err != nil {
		return answer{}, err
	}
	kind := exposition.Text
	if open {
		kind = exposition.OpenMetrics
	}
	return answer{body: out.Bytes(), kind: kind, policy: closed}, nil
}
