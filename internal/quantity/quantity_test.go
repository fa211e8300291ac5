package quantity

import "testing"

func TestQuantity(t *testing.T) {
	for _, c := range []struct {
		value float64
		unit  string
		want  string
	}{
		{.0012345, "s", "1.234 ms"}, {.99999, "s", "1 s"}, {0, "s", "0 s"}, {3.2e-7, "s", "320 ns"}, {90, "s", "90 s"},
		{41237.6, "1/s", "41,238/s"}, {0.5, "1/s", "0.5/s"}, {999.96, "1/s", "1,000/s"}, {-1234.5, "1", "-1,234"},
		{512 << 20, "B", "512 MiB"}, {1.5 * (1 << 30), "B/s", "1.5 GiB/s"}, {100, "B", "100 B"},
		{.9312, "share", "93.1 %"}, {3, "widgets", "3 widgets"}, {1e20, "1", "1e+20"}, {1e-7, "1", "1e-07"}, {123456789, "1", "123,456,789"},
	} {
		if got := Of(c.value, c.unit); got != c.want {
			t.Errorf("%v %s: %q, want %q", c.value, c.unit, got, c.want)
		}
	}
}

func TestPercent(t *testing.T) {
	for share, want := range map[float64]string{
		.271: "+27.1 %", -.2634: "-26.3 %", .0018: "+0.18 %", 0: "+0.00 %", -.00001: "+0.00 %", .00994: "+0.99 %", .00996: "+1.0 %", 1: "+100.0 %",
	} {
		if got := Percent(share); got != want {
			t.Errorf("%v: %q, want %q", share, got, want)
		}
	}
	for share, want := range map[float64]string{.02: "2 %", .984912: "98.4912 %", .95: "95 %"} {
		if got := Share(share); got != want {
			t.Errorf("%v: %q, want %q", share, got, want)
		}
	}
}
