package pace

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// Whatever is asked, what is offered is within 1 % of it, reads and writes apart, by no more workers than allowed; or it is refused.
func TestWhatIsOfferedIsAsked(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	refused := 0
	for range 3_000 {
		l := Load{
			Rate: math.Exp(random.Float64() * math.Log(1e6)), Read: float64(random.IntN(101)) / 100, Disks: 1 + random.IntN(64),
			Least: random.IntN(16), Most: 16 + random.IntN(112), Each: []float64{1, 2, 10, 37.5, 200}[random.IntN(5)],
		}
		if random.IntN(4) == 0 {
			l.Most = 1 + random.IntN(4)
		}
		disks := l.Share()
		if err := l.Refuse(); err != nil {
			if l.Most > remainders && l.Rate/float64(l.Disks)+2 < fastest*float64(l.Most-remainders) {
				t.Fatalf("%+v: %v", l, err)
			}
			refused++
			continue
		}
		if err := holds(l, disks); err != nil {
			t.Fatalf("%+v: %v", l, err)
		}
	}
	if refused > 900 {
		t.Errorf("%d of 3000 loads were refused", refused)
	}
}

func holds(l Load, disks [][]Group) error {
	for name, one := range map[string][2]float64{
		"reads":  {Sum(disks, Group.reads), l.Rate * l.Read},
		"writes": {Sum(disks, Group.writes), l.Rate * (1 - l.Read)},
		"all":    {Sum(disks, Group.offered), l.Rate},
	} {
		if math.Abs(one[0]-one[1]) > within*one[1]+1e-9 {
			return fmt.Errorf("%s: %g/s of %g/s", name, one[0], one[1])
		}
	}
	if len(disks) != l.Disks {
		return fmt.Errorf("%d disks", len(disks))
	}
	least, most := math.Inf(1), 0.
	for d, groups := range disks {
		if n := Workers(groups); n > l.Most {
			return fmt.Errorf("%d workers on disk %d", n, d)
		}
		on, next := 0., 0
		for _, g := range groups {
			if g.First != next {
				return fmt.Errorf("workers %d to %d have no group on disk %d", next, g.First, d)
			}
			next += g.Workers
			on += float64(g.Workers) * (g.Reads + g.Writes)
			switch whole := g.Reads == math.Trunc(g.Reads) && g.Writes == math.Trunc(g.Writes); {
			case g.Reads+g.Writes <= 0 || whole == g.Fixed:
				return fmt.Errorf("disk %d: %+v", d, g)
			case g.Fixed && (g.Workers != 1 || g.Reads > 0 && g.Writes > 0):
				return fmt.Errorf("disk %d: %+v", d, g)
			case !g.Fixed && g.Reads+g.Writes > l.Each+1 && Workers(groups) < l.Most-remainders:
				return fmt.Errorf("a worker of disk %d has more than %g/s: %+v", d, l.Each, g)
			}
		}
		least, most = min(least, on), max(most, on)
	}
	if most-least > 3 {
		return fmt.Errorf("a disk has %g/s, and another %g/s", least, most)
	}
	return nil
}

// fio's arithmetic, with the mean of its logarithm.
func TestPaced(t *testing.T) {
	for _, rate := range []float64{1, 7, 62, 333, 999, 1000, 1500, 4321, 10_000} {
		n := option(rate)
		sum, random := 0., rand.New(rand.NewPCG(uint64(n), 3))
		const draws = 400_000
		for range draws {
			u := float32(random.Uint32()>>8+1) / (1 << 24)
			sum += math.Trunc(float64(int64(1_000_000/n)) * -math.Log(float64(u)))
		}
		is := microsteps / (sum / draws)
		if math.Abs(is-rate) > .01*rate || math.Abs(is-paced(n)) > .008*is {
			t.Errorf("%g/s: option %d makes %.5g/s, expected %.5g/s", rate, n, is, paced(n))
		}
	}
}

func TestShares(t *testing.T) {
	for _, c := range []struct {
		of   Load
		want string
	}{
		{Load{Rate: 62.5, Read: .7, Disks: 2, Most: 8, Each: 20}, `0-0: --rate_process=poisson --rate_iops=11,4; 1-1: --rate_process=poisson --rate_iops=10,5; 2-2: --rate=7168
0-0: --rate_process=poisson --rate_iops=11,4; 1-1: --rate_process=poisson --rate_iops=10,4; 2-2: --rate=7168`},
		{Load{Rate: 10, Read: .7, Disks: 3, Most: 1, Each: 20}, `0-0: --rate_process=poisson --rate_iops=3,1
0-0: --rate_process=poisson --rate_iops=2,1
0-0: --rate_process=poisson --rate_iops=2,1`},
		{Load{Rate: 10, Read: .7, Disks: 1, Least: 8, Most: 8, Each: 20}, "0-1: --rate_process=poisson --rate_iops=1,1; 2-6: --rate_process=poisson --rate_iops=1; 7-7: --rate_process=poisson --rate_iops=1"},
		{Load{Rate: 1, Read: 1, Disks: 2, Most: 4, Each: 20}, "0-0: --rate_process=poisson --rate_iops=1\n"},
	} {
		disks := c.of.Share()
		var all []string
		for _, groups := range disks {
			var line []string
			for _, g := range groups {
				line = append(line, fmt.Sprintf("%d-%d: %s", g.First, g.First+g.Workers-1, strings.Join(g.Options(4096, 4096), " ")))
			}
			all = append(all, strings.Join(line, "; "))
		}
		if got := strings.Join(all, "\n"); got != c.want {
			t.Errorf("%+v: got\n%s\nwant\n%s", c.of, got, c.want)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		of   Load
		want string
	}{
		{Load{Rate: 1, Read: .7, Disks: 1, Most: 1, Each: 20}, "1/s of reads would be offered instead of 0.7/s, with 1 outstanding on a disk: raise storage.depth to 3, or take another rate"},
		{Load{Rate: 30_000, Read: 1, Disks: 1, Most: 2, Each: 20}, "30000/s by 2 workers are more than 10000/s for each, which fio can pace: raise storage.depth or storage.threads"},
	} {
		if err := c.of.Refuse(); err == nil || err.Error() != c.want {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
	}
}
