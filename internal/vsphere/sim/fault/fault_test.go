package fault

import (
	"math"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/disturbance"
)

// wrong are rules that are refused, with what the error names.
var wrong = map[string]string{
	"": "TARGET=", "cloneVm": "TARGET=", "=1:NoPermission": "TARGET=", "cloneVM=1:NoPermission": "neither an operation nor a method", "cloneVm=1": "SHARE:FAULT",
	"cloneVm=0:NoPermission": "share", "cloneVm=1.5:NoPermission": "share", "cloneVm=NaN:NoPermission": "share", "cloneVm=1:NoSuchFault": "neither a fault", "cloneVm=1:lose": "of operations: hang, slow",
	"Login=1:slow": "slow requires a time", "Login=1:lose:2s": "slow requires a time", "Login=1:slow:-2s": "must be from 0", "Login=1:VirtualMachineConfigSpec": "neither a fault",
	"session=fail@2s": "events are", "host:=fail@2s": "events are", "session=expire@2": "time", "session=expire@2s+1s": "does not return", "host:a=fail@1s/5s": "must return in between",
	"vcenter=restart@1s+5s/2s": "before its end", "session=expire@1s/0s": "before its end",
}

func TestWrongRulesAreRefused(t *testing.T) {
	for text, names := range wrong {
		if _, err := New(1, []string{text}); err == nil || !strings.Contains(err.Error(), names) || len(err.Error()) > 600 {
			t.Errorf("%q gives %v, want an error that names %q", text, err, names)
		}
	}
}

// The share of operations that fail is that of the rule, the same for the same seed, and counted.
func TestShareAndCount(t *testing.T) {
	const n = 20000
	hits := func(seed uint64) (list [n]bool, of *Set) {
		s, err := New(seed, []string{"cloneVm=0.02:InsufficientResourcesFault", "powerOn=1:hang"})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for i := range list {
			is := s.Operation("cloneVm")
			_, list[i] = is.Fault.(*types.InsufficientResourcesFault)
		}
		return list, s
	}
	first, set := hits(3)
	again, _ := hits(3)
	other, _ := hits(4)
	count := 0
	for _, is := range first {
		if is {
			count++
		}
	}
	if got := float64(count) / n; math.Abs(got-.02) > .004 { // four standard deviations
		t.Errorf("%.4f of the operations fail, want 0.02", got)
	}
	if first != again || first == other {
		t.Error("the seed does not decide")
	}
	if !set.Operation("powerOn").Endless || set.Operation("powerOff").Endless {
		t.Error("powering on ends, or powering off does not")
	}
	fields := strings.Fields(set.String())
	if len(fields) != 8 || fields[3] != "20000" || fields[5] != "1" {
		t.Errorf("count: %q", set)
	}
}

func TestCalls(t *testing.T) {
	s, err := New(1, []string{"RetrievePropertiesEx=1:NoPermission", "CurrentTime=1:slow:3s", "*=1:busy"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, is := s.Check(nil, &simulator.Method{Name: "RetrievePropertiesEx"}).(*types.NoPermission); !is || s.Check(nil, &simulator.Method{Name: "CurrentTime"}) != nil {
		t.Error("the wrong call fails")
	}
	if is := s.Call("CurrentTime"); is.Kind != disturbance.Slow || is.Delay.Seconds() != 3 {
		t.Errorf("%+v", is)
	}
	if is := s.Call("FindByUuid"); is.Kind != disturbance.Busy || s.Call("Login").Kind != disturbance.None {
		t.Errorf("%+v", is)
	}
}

func TestControl(t *testing.T) {
	s, err := New(1, []string{"cloneVm=1:NoPermission"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ask := func(method, body, user, origin string) (int, string) {
		r := httptest.NewRequest(method, "/plimsoll/faults", strings.NewReader(body))
		r.SetBasicAuth(user, "secret")
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		w := httptest.NewRecorder()
		s.Control("operator", "secret").ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	for _, step := range []struct {
		method, body, user, origin string
		code                       int
		says                       string
	}{
		{"GET", "", "operator", "", 200, "cloneVm=1:NoPermission  0 of 0\n"},
		{"GET", "", "guest", "", 401, "required"},
		{"POST", "powerOn=1:hang", "operator", "https://example.com", 403, "pages"},
		{"POST", "powerOn=1:hang powerOff=2:hang", "operator", "", 400, "share"},
		{"POST", "powerOn=1:hang\npowerOff=1:slow:1s\n", "operator", "", 200, "cloneVm=1:NoPermission  0 of 0\npowerOn=1:hang  0 of 0\npowerOff=1:slow:1s  0 of 0\n"},
		{"PUT", "session=expire@24h", "operator", "", 200, "session=expire@24h  0 times\n"},
		{"DELETE", "", "operator", "", 200, ""},
		{"PATCH", "", "operator", "", 405, "PUT"},
	} {
		if code, says := ask(step.method, step.body, step.user, step.origin); code != step.code || !strings.Contains(says, step.says) || step.code == 200 && says != step.says {
			t.Errorf("%s %q by %s gives %d %q, want %d %q", step.method, step.body, step.user, code, says, step.code, step.says)
		}
	}
}

func FuzzRule(f *testing.F) {
	for text := range wrong {
		f.Add(text)
	}
	f.Add("host:esx=1=fail@1s+2s/5s")
	f.Add("*=0.5:truncate")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parse(text)
		if err != nil {
			return
		}
		if r.at == "" && !(r.share > 0 && r.share <= 1) || r.every != 0 && r.every < r.last || r.after < 0 {
			t.Errorf("%q: %+v", text, r)
		}
		if r.fault != nil && r.make() == nil {
			t.Errorf("%q makes no fault", text)
		}
	})
}
