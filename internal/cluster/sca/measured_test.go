package sca

import (
	"bytes"
	"strings"
	"testing"

	"plimsoll/internal/cluster"
)

func TestParsePoint(t *testing.T) {
	for text, want := range map[string]Point{
		"scav1@100%=22%": {V1, 1000, 220}, "scav2@75%=4.2%": {V2, 750, 42}, "scav1@0.5%=0%": {V1, 5, 0}, "scav2@50%=0": {V2, 500, 0},
	} {
		if p, err := parsePoint(text); p != want || err != nil {
			t.Errorf("%q: %+v, %v", text, p, err)
		}
	}
	for text, want := range map[string]string{
		"": "must be POLICY@LOAD=LOSS", "default@100%=1%": "scav1 or scav2", "scav1@100%": "must be POLICY", "scav1=3%": "must be POLICY",
		"scav1@101%=1%": "the load is more than 100%", "scav1@100%=100%": "the loss is more than 99.9%", "scav1@0%=1%": "the load is nothing",
		"scav1@100%=-1%": "the loss is below 0", "scav1@half=1%": "the load", "scav1@50=1%": "the load has no unit",
	} {
		if p, err := parsePoint(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want %q", text, p, err, want)
		}
	}
}

func FuzzParsePoint(f *testing.F) {
	for _, text := range []string{"scav1@100%=22%", "scav2@75%=4.2%", "scav1@=", "@=%"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parsePoint(text)
		if err == nil && (p.Load < 1 || p.Load > 1000 || p.Loss < 0 || p.Loss > 999) {
			t.Errorf("%q is %+v", text, p)
		}
	})
}

func TestModelsThatContradictThemselves(t *testing.T) {
	for _, c := range []struct {
		yield  int
		points []string
		want   string
	}{
		{1430, []string{"scav1@75%=1%", "scav1@75%=2%"}, "given twice"},
		{1250, []string{"scav1@100%=20%"}, "omit one of them"},
		{1430, []string{"scav1@100%=51%"}, "at least half"},
		{1430, []string{"scav3@75%=1%"}, "scav1 or scav2"},
		{900, nil, "--yield 900: must be from 1000"}, {2001, nil, "to 2000"},
	} {
		if m, err := NewModel(c.yield, c.points); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d, %v: %+v, %v, want %q", c.yield, c.points, m, err, c.want)
		}
	}
	if _, err := NewModel(1250, []string{"scav1@75%=20%", "scav2@100%=60%"}); err != nil {
		t.Error(err)
	}
}

func model(t *testing.T, points ...string) Model {
	t.Helper()
	m, err := NewModel(DefaultYield, points)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The capacity factors are those measured at saturation, with the parity of vCPUs on top.
func TestMeasuredCapacity(t *testing.T) {
	m := model(t, "scav2@100%=3%", "scav1@100%=22%")
	even, err := assess(host(28, 2), []Group{{4, 100}}, m)
	if err != nil {
		t.Fatal(err)
	}
	if v1, v2 := even[1].Factor, even[2].Factor; v1 < 779 || v1 > 780 || v2 != 970 {
		t.Errorf("factors %d and %d, measured were 780 and 970", v1, v2)
	}
	if even[2].Relative != 969 || even[2].CPU >= even[0].CPU {
		t.Errorf("%+v", even[2])
	}
	odd, err := assess(host(28, 2), []Group{{3, 100}}, m)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := assess(host(28, 2), []Group{{3, 100}}, Model{Yield: m.yield()})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := odd[2].Factor, plain[2].Factor*970/1000; got != want || plain[2].Factor >= 1000 {
		t.Errorf("VMs of 3 vCPUs: %d, want %d", got, want)
	}
	for i, row := range even {
		if single, err := assess(host(28, 1), []Group{{4, 100}}, m); err != nil || single[i].Factor != 1000 || row.Policy != single[i].Policy {
			t.Errorf("%s without SMT: %+v, %v", row.Policy, single, err)
		}
	}
}

// Below saturation the loss is on the line between the points that were measured.
func TestMeasuredLossBelowSaturation(t *testing.T) {
	m := model(t, "scav1@50%=1%", "scav1@75%=4%", "scav1@100%=22%", "scav2@50%=2%", "scav2@75%=6%")
	rows, err := assess(host(28, 2), []Group{{4, 100}}, m)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		policy, load int
		want         Loss
	}{
		{1, 250, Loss{0, 10, true}}, {1, 500, Loss{10, 10, true}}, {1, 625, Loss{25, 25, true}}, {1, 750, Loss{40, 40, true}}, {1, 1000, Loss{220, 220, true}},
		{2, 400, Loss{0, 20, true}}, {2, 625, Loss{40, 40, true}}, {2, 750, Loss{60, 60, true}}, {2, 800, Loss{60, 60, false}},
		{0, 900, Loss{0, 0, true}},
	} {
		if got := rows[c.policy].Expected(c.load); got != c.want {
			t.Errorf("%s at %d: %+v, want %+v", rows[c.policy].Policy, c.load, got, c.want)
		}
	}
	// Beyond saturation no more is lost than at it, since the default policy loses the rest as well.
	if got := rows[1].Expected(1500); !got.Known || got.Least < 220 || got.Least > 221 || got.Most != got.Least {
		t.Errorf("at 150 %%: %+v", got)
	}
	few, err := assess(host(28, 2), []Group{{4, 2}}, m)
	if err != nil || few[1].Expected(750) != (Loss{Known: true}) {
		t.Errorf("a core for each vCPU loses %+v, %v", few[1].Expected(750), err)
	}
}

func TestMeasuredReport(t *testing.T) {
	c := lab([]int{4, 4, 4, 4, 4})
	var b bytes.Buffer
	if err := Look(c, cluster.Nowhere, model(t, "scav1@100%=20%", "scav2@75%=2%")).Text(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"by the measured loss of scav1, 1.25 times", "Measured, as given\n  scav1, 100%: 20% less than by default\n  scav2, 75%: 2% less"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
}
