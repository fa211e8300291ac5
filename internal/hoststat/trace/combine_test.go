package trace_test

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/trace"
)

// Every number of an interval of this host survives a combination with itself, so none is forgotten.
func TestCombine(t *testing.T) {
	r := hoststat.NewReader(hoststat.Local())
	r.Focus, r.Parent = []int{os.Getpid()}, os.Getppid()
	f := &trace.Follower{Reader: r, Every: 20 * time.Millisecond}
	f.Begin()
	stop := make(chan struct{})
	var seen []hoststat.Interval
	f.Run(stop, func(i *hoststat.Interval) {
		if seen = append(seen, *i); len(seen) == 1 {
			close(stop)
		}
	})
	one := seen[0]
	both := trace.Combine([]hoststat.Interval{one, one})
	both.Seconds = one.Seconds
	want, got := tree(t, trace.Combine([]hoststat.Interval{one})), tree(t, both)
	if same(t, "", tree(t, &one), want); !t.Failed() {
		same(t, "", want, got)
	}
	for _, p := range one.Processes {
		if p.PID == os.Getpid() && !strings.Contains(p.Origin, "test") {
			t.Errorf("this process is of %q", p.Origin)
		}
	}
	if trace.Combine(nil) != nil {
		t.Error("nothing is an interval")
	}
}

func tree(t *testing.T, i *hoststat.Interval) (v any) {
	t.Helper()
	text, err := json.Marshal(i)
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// same compares numbers with a tolerance, and lists by their length.
func same(t *testing.T, at string, a, b any) {
	t.Helper()
	switch x := a.(type) {
	case float64:
		if y, ok := b.(float64); !ok || x != y && (y < x*(1-1e-9) || y > x*(1+1e-9)) {
			t.Errorf("%s is %v, want %v", at, b, a)
		}
	case map[string]any:
		y, _ := b.(map[string]any)
		for name := range x {
			same(t, at+"."+name, x[name], y[name])
		}
	case []any:
		y, _ := b.([]any)
		if len(x) != len(y) {
			t.Errorf("%s has %d elements, want %d", at, len(y), len(x))
			return
		}
		for n := range x {
			if strings.HasSuffix(at, ".processes") || strings.HasSuffix(at, ".tasks") {
				continue // their order is by CPU time, of which many have the same
			}
			same(t, at+"[]", x[n], y[n])
		}
	default:
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s is %v, want %v", at, b, a)
		}
	}
}

// A trace of a long time is bounded, and keeps the time and the counts.
func TestTrace(t *testing.T) {
	var course trace.Trace
	for n := range 1000 {
		course.Add(&hoststat.Interval{At: float64(n + 1), Seconds: 1, Switches: 2})
	}
	if n := len(course.Intervals); n < 100 || n > 256 {
		t.Errorf("%d intervals", n)
	}
	if all := trace.Combine(course.Intervals); all.Seconds != 1000 || all.At != 1000 || all.Switches < 1.999 || all.Switches > 2.001 {
		t.Errorf("%+v", all)
	}
}

// The detail of a long trial on many CPUs is bounded, and its mean keeps the threads.
func TestDetail(t *testing.T) {
	var all []hoststat.Interval
	for n := range 250 {
		i := hoststat.Interval{At: float64(n + 1), Seconds: 1, SoftIRQs: map[string][]float64{"NET_RX": make([]float64, 256), "HI": make([]float64, 256)}}
		for cpu := range 256 {
			i.CPUs = append(i.CPUs, hoststat.CPU{User: 1. / float64(cpu+3), System: 1. / float64(n+7)})
			i.SoftIRQs["NET_RX"][cpu] = float64(cpu*n) / 7
		}
		i.VM = map[string]float64{"pgfault": 1234567.8, "pswpin": 0}
		i.Processes = []hoststat.Process{{PID: 7, Name: "redis-server", Command: "redis-server --requirepass hunter2", Origin: "redis-server --requirepass hunter2", User: .98, Tasks: []hoststat.Thread{{TID: 8, User: .98}}}, {PID: 9, User: 1e-4}}
		all = append(all, i)
	}
	d := trace.Detail{Machine: "big", Recording: hoststat.Recording{Facts: &hoststat.Facts{}, Mean: trace.Combine(all), Intervals: all}}
	text, err := d.Encode()
	if err != nil || len(text) > 1<<20 {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	if bytes.Contains(text, []byte("hunter2")) {
		t.Error("a password of a command line is in the file")
	}
	var back trace.Detail
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	seconds, last := 0., back.Intervals[len(back.Intervals)-1]
	for _, i := range back.Intervals {
		seconds += i.Seconds
	}
	if seconds != 250 || last.VM["pgfault"] != 1235000 || len(last.VM) != 1 || len(last.SoftIRQs) != 1 || len(last.Processes) != 1 {
		t.Errorf("%v s; %v, %d kinds of soft interrupts, %d processes", seconds, last.VM, len(last.SoftIRQs), len(last.Processes))
	}
	if p := back.Mean.Processes[0]; len(p.Tasks) != 1 || p.Tasks[0].User != .98 || len(back.Mean.VM) != 2 {
		t.Errorf("mean: %+v", p)
	}
	if len(all[3].Processes) != 2 || all[3].VM["pgfault"] != 1234567.8 {
		t.Error("the intervals in memory were changed")
	}
}

// A detail from elsewhere is read or refused, and what is read can be drawn and written again.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"format":1,"machine":"db","facts":{"cpus":[{}]},"mean":{"seconds":1},"intervals":[{"at":1,"seconds":1,"cpus":[{"user":1}],"processes":[{"pid":1,"name":"a","tasks":[{}]}],"disks":[{"name":"vda"}]}]}`))
	f.Add([]byte(`{"format":2}`))
	f.Add([]byte(`{"format":1,"facts":{},"mean":{},"intervals":[{"at":-1,"seconds":-3},{}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := trace.Decode(text)
		if err != nil {
			return
		}
		d.Events()
		if again, err := d.Encode(); err != nil || len(again) > 2<<20+2*len(text) {
			t.Errorf("%d bytes of %d, %v", len(again), len(text), err)
		}
	})
}

func TestProgram(t *testing.T) {
	for command, want := range map[string]string{
		"/usr/bin/plimsoll worker":                                              "/usr/bin/plimsoll worker",
		"postgres: bench bench 127.0.0.1(4711) SELECT":                          "postgres: bench bench 127.0.0.1(4711) SELECT",
		"qemu-system-x86_64 -name guest=db,debug=on -object secret,id=s,data=x": "qemu-system-x86_64 -name guest=db,debug=on",
		"mysql -psecret": "mysql", "": "", "top": "top",
	} {
		d := trace.Detail{Recording: hoststat.Recording{Mean: &hoststat.Interval{Seconds: 1, Processes: []hoststat.Process{{PID: 1, Command: command}}}}}
		text, err := d.Encode()
		var back trace.Detail
		if err == nil {
			err = json.Unmarshal(text, &back)
		}
		if err != nil || back.Mean.Processes[0].Command != want {
			t.Errorf("%q became %+v, %v", command, back.Mean, err)
		}
	}
}
