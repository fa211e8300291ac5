package network

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/service/reflector"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/workloadtest"
)

func TestContractOfExchanges(t *testing.T) {
	t.Parallel()
	at, _ := reflecting(t, reflector.Options{})
	workloadtest.Run(t, Kind(), workloadtest.Options{
		Settings: []parameter.Settings{
			nil,
			{"burst": "4", "flows": "2", "threads": "2"},
			{"test": "tcp_crr", "think": "1ms"},
			{"test": "udp_rr", "rate": "2000/s", "burst": "7"},
		},
		Env:    func(*testing.T) workload.Env { return to(at) },
		Length: loadtest.Short(200 * time.Millisecond),
	})
}

// Each kind of exchange counts the same at both ends, and tells what it took of them.
func TestExchanges(t *testing.T) {
	t.Parallel()
	at, _ := reflecting(t, reflector.Options{})
	for _, s := range loadtest.First(2, []parameter.Settings{
		{"test": "tcp_crr", "request": "32B", "response": "1KiB"},
		{"test": "udp_rr", "burst": "4", "request": "3B", "response": "20B"},
		{"test": "tcp_rr", "request": "10B", "response": "3000B", "socket_buffer": "8KiB", "remote_buffer": "8KiB"},
		{"test": "tcp_rr", "burst": "4", "flows": "3"},
	}) {
		loadtest.Calm(t, func() error { return exchanged(t, s, run(t, at, s, little)) })
	}
}

// exchanged checks the result of exchanges with certain settings.
func exchanged(t *testing.T, s parameter.Settings, r ran) error {
	for _, name := range []string{"client.cpu", "client.cpu_per_operation", "derived_latency"} {
		if !(r.values[name] > 0) {
			t.Errorf("%v: %s is %g", s, name, r.values[name])
		}
	}
	sum, err := measure.Summarise(r.out.Intervals(), measure.Window{End: little.Seconds()}, Kind().Rate)
	if err != nil {
		t.Fatal(err)
	}
	l := made(t, s).(*network)
	if want := float64(l.Demand().Classes[0].Bytes) * sum.Values["transactions"]; math.Abs(sum.Values["throughput"]/want-1) > 1e-9 {
		t.Errorf("%v: throughput %g B/s, want %g", s, sum.Values["throughput"], want)
	}
	if r.sum.Operations < 100 || r.sum.Errors != 0 {
		return fmt.Errorf("%v: counted %+v", s, r.sum)
	}
	served := r.values["server.cpu"] / r.values["server.cpu_per_operation"] * little.Seconds()
	if share := served / float64(r.sum.Operations); share < .7 || share > 1.3 {
		return fmt.Errorf("%v: the reflector served %.3g times what was counted", s, share)
	}
	// Little's law: what is derived is the mean, where nothing pauses.
	if mean := sum.Values["mean"]; math.Abs(r.values["derived_latency"]/mean-1) > .15 {
		return fmt.Errorf("%v: derived latency %g s, mean %g s", s, r.values["derived_latency"], mean)
	}
	return nil
}

// Requests that the reflector throws away time out, and are counted; the others go on.
func TestLostRequestsAreCounted(t *testing.T) {
	at, _ := reflecting(t, reflector.Options{Drop: .2, Seed: 4})
	length := max(little, loadtest.Short(2*little))
	loadtest.Calm(t, func() error {
		r := run(t, at, parameter.Settings{"test": "udp_rr", "rate": "2000/s", "burst": "255", "timeout": "40ms", "tick": "1ms"}, length)
		if r.sum.TimedOut == 0 || r.sum.TimedOut != r.sum.Errors {
			t.Errorf("counted %+v", r.sum)
		}
		n := 2000 * length.Seconds()
		if got := r.values["loss"]; math.Abs(got-.2) > 5*math.Sqrt(.2*.8/n)+.02 {
			return fmt.Errorf("loss is %g, with 20 %% dropped: %+v", got, r.sum)
		}
		return nil
	})
}

func TestADyingReflectorEndsAnExchange(t *testing.T) {
	for _, test := range []string{"tcp_rr", "udp_rr", "tcp_crr"} {
		at, kill := reflecting(t, reflector.Options{})
		out := measure.NewRecorder(func(*measure.Recorder) bool { kill(); return false })
		stage := short(time.Minute)
		stage.Interval = loadtest.Short(100 * time.Millisecond)
		start := time.Now()
		err := made(t, parameter.Settings{"test": test}).Run(t.Context(), to(at), stage, out)
		if err == nil || !strings.Contains(err.Error(), "reflector") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v", test, err)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s: took %s to notice", test, took)
		}
	}
}

// A far side that greets as a reflector and then answers requests with garbage neither
// hangs the load nor passes.
func TestAGarblingReflector(t *testing.T) {
	control, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	data, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	port := data.Addr().(*net.TCPAddr).Port
	go garble(data)
	go greet(control, port)
	out := measure.NewRecorder(nil)
	start := time.Now()
	err = made(t, parameter.Settings{"response": "4B"}).Run(t.Context(), to(load.Endpoint{Network: "tcp", Address: control.Addr().String()}), short(little), out)
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
	if sum, _ := operations(out); err == nil && (sum.Errors == 0 || sum.Operations > 0) {
		t.Errorf("garbage passes: %+v", sum)
	}
}

// garble answers each request with more than was asked for, and closes the connection.
func garble(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			if _, err := conn.Read(make([]byte, 100)); err == nil {
				io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n")
			}
		}()
	}
}

// greet serves control connections as a reflector does.
func greet(l net.Listener, port int) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			io.WriteString(conn, "{\"plimsoll\":\"reflect\",\"version\":1}\n")
			lines := bufio.NewScanner(conn)
			for lines.Scan() {
				answer := "{\"counts\":{\"elapsed\":1}}\n"
				switch {
				case strings.Contains(lines.Text(), "\"test\""):
					answer = fmt.Sprintf("{\"ready\":{\"port\":%d,\"threads\":1}}\n", port)
				case strings.Contains(lines.Text(), "report"):
					answer = "{\"report\":{\"elapsed\":1,\"cpu\":1}}\n"
				}
				io.WriteString(conn, answer)
			}
		}()
	}
}
