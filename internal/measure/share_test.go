package measure

import "testing"

func TestDistribution(t *testing.T) {
	fits := []Share{{What: "sales", Count: 498, Of: 1000, Low: .5, High: .5}, {What: "returns", Count: 12, Of: 1000, Low: .01, High: .02}}
	for _, c := range []struct {
		name   string
		shares []Share
		state  State
		detail string
	}{
		{"chance explains it", fits, Pass, "sales 49.8 % (50); returns 1.2 % (1 to 2)"},
		{"no draws", []Share{{What: "sales", Low: .5, High: .5}}, Pass, "sales 0 % (50)"},
		{"too few", append(fits[:1:1], Share{What: "returns", Count: 0, Of: 100_000, Low: .01, High: .02}), Fail, "sales 49.8 % (50); returns 0 % (1 to 2)"},
		{"too many", []Share{{What: "sales", Count: 600, Of: 1000, Low: .5, High: .5}}, Fail, "sales 60 % (50)"},
	} {
		if got := Distribution(c.shares); got.Name != "distribution" || got.State != c.state || got.Detail != c.detail {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
