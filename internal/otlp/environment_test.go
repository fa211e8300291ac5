package otlp

import (
	"strings"
	"testing"
	"time"
)

func TestEndpoints(t *testing.T) {
	const all, own = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
	for _, c := range []struct {
		address     string
		environment map[string]string
		want        string // an error begins with "!"
	}{
		{"http://localhost:4318", nil, "http://localhost:4318/v1/metrics"},
		{"http://localhost:4318/", map[string]string{all: "http://other"}, "http://localhost:4318/v1/metrics"},
		{"https://h/otlp", nil, "https://h/otlp/v1/metrics"},
		{"https://h/otlp/v1/metrics", nil, "https://h/otlp/v1/metrics"},
		{"https://user:secret@h", nil, "https://user:xxxxx@h/v1/metrics"},
		{"", map[string]string{all: "http://c:4318"}, "http://c:4318/v1/metrics"},
		{"", map[string]string{all: "http://c:4318", own: "http://m:1/x"}, "http://m:1/x"},
		{"", nil, "!no collector is named"},
		{"", map[string]string{all: "http://c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "!OTEL_EXPORTER_OTLP_PROTOCOL is grpc"},
		{"http://c:4318", map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "http://c:4318/v1/metrics"},
		{"localhost:4318", nil, `!the collector is "localhost:4318", not a URL`},
		{"ftp://user:secret@h", nil, `!the collector is "…@h", not a URL`},
		{"", map[string]string{all: "::"}, "!OTEL_EXPORTER_OTLP_ENDPOINT is"},
		{"results.json", nil, "!the collector is"},
		{"http://c", map[string]string{"OTEL_EXPORTER_OTLP_TIMEOUT": "10s"}, `!OTEL_EXPORTER_OTLP_TIMEOUT is "10s"`},
		{"http://c", map[string]string{"OTEL_EXPORTER_OTLP_TIMEOUT": "9223372036854775807"}, "!OTEL_EXPORTER_OTLP_TIMEOUT is"},
		{"http://c", map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "secret"}, "!OTEL_EXPORTER_OTLP_HEADERS: header 1 is not"},
		{"http://c", map[string]string{"OTEL_EXPORTER_OTLP_METRICS_HEADERS": "a=b,c=secret%0d%0ax: y"}, "!OTEL_EXPORTER_OTLP_METRICS_HEADERS: header 2 is not"},
	} {
		client, err := NewClient(c.address, func(name string) string { return c.environment[name] })
		if refused, bad := strings.CutPrefix(c.want, "!"); bad {
			if err == nil || !strings.HasPrefix(err.Error(), refused) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%q %v: %v", c.address, c.environment, err)
			}
			continue
		}
		if err != nil || client.Address() != c.want || client.http.Timeout != usualTime {
			t.Errorf("%q %v: %v, %v", c.address, c.environment, client, err)
		}
	}
	client, err := NewClient("http://c", func(name string) string {
		return map[string]string{"OTEL_EXPORTER_OTLP_TIMEOUT": "1500", "OTEL_EXPORTER_OTLP_HEADERS": "a=1", "OTEL_EXPORTER_OTLP_METRICS_HEADERS": "b=2"}[name]
	})
	if err != nil || client.http.Timeout != 1500*time.Millisecond || client.header.Get("a") != "" || client.header.Get("b") != "2" {
		t.Errorf("%+v, %v", client, err)
	}
}

// A header that is accepted is sent as one.
func FuzzHeaders(f *testing.F) {
	f.Add("api-key=a%20b,x=y")
	f.Add("Authorization=Basic%20a=b%0a")
	f.Add(",=,a=,\xff=%ff")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := headers("V", text)
		if err != nil {
			return
		}
		for name, values := range all {
			if strings.ContainsAny(name+strings.Join(values, ""), "\r\n\x00") || name == "" {
				t.Errorf("%q: %q", name, values)
			}
		}
	})
}
