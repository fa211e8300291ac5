package storage

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/parameter"
	"plimsoll/internal/stat"
)

// fio starts operations at the rate that is asked, at random instants. Its logs have when it started each.
func TestRealArrivals(t *testing.T) {
	env := forReal(t)
	for rate, length := range map[float64]time.Duration{10: 10 * time.Second, 62.5: 8 * time.Second, 333: 6 * time.Second, 5000: 6 * time.Second} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			t.Parallel()
			env := env
			env.Dir = t.TempDir() + "/scratch"
			d := made(t, parameter.Settings{"disks": "2", "size": "8MiB", "read": "70%", "depth": "16", "rate": fmt.Sprintf("%g/s", rate), "precondition": "zero"})
			if err := d.Prepare(t.Context(), env); err != nil {
				t.Fatal(err)
			}
			on, err := d.places(t.Context(), env)
			if err != nil {
				t.Fatal(err)
			}
			loadtest.CalmWithin(t, time.Minute, func() error {
				logs := t.TempDir()
				argv := logged(d.pattern.command(on, load.Stage{Length: length - surplus, Interval: time.Second, Seed: 3}), logs)
				if said, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, said)
				}
				all, share, immediate, apart := arrivals(t, logs)
				if n := d.pattern.workers(); immediate < n {
					t.Errorf("%d of %d workers started an operation at once", immediate, n)
				}
				if sd := math.Sqrt(.7 * .3 / float64(len(all))); math.Abs(share-.7) > .01+3*sd {
					t.Errorf("%.3f of the operations are reads", share)
				}
				count := float64(len(all))
				t.Logf("%g/s: %.5g/s, %.3f reads, coefficient of variation %.3f of all gaps, %.3f of those of a worker", rate, count/length.Seconds(), share, variation(gaps(all)), variation(apart))
				want := rate * length.Seconds()
				excess := count - want
				if most := .02*want + 3*math.Sqrt(want); excess > most {
					t.Errorf("%g operations were started in %v at %g/s", count, length, rate)
				} else if excess < -most { // a busy host starts fewer
					return fmt.Errorf("%g operations were started in %v at %g/s", count, length, rate)
				}
				// Of exponential gaps it is 1; operations that bunch because the host is busy raise it.
				for name, of := range map[string][]float64{"all": gaps(all), "workers": apart} {
					cv := variation(of)
					if cv < 1-3/math.Sqrt(float64(len(of)))-.05 {
						t.Errorf("the coefficient of variation of %s is %.3f at %g/s", name, cv, rate)
					}
					if cv > 1.5 {
						return fmt.Errorf("the coefficient of variation of %s is %.3f at %g/s", name, cv, rate)
					}
				}
				return nil
			})
			if err := d.Clean(t.Context(), env); err != nil {
				t.Error(err)
			}
		})
	}
}

// logged is fio's command with a log for each worker, which has a job of its own in the same order.
func logged(argv []string, dir string) (all []string) {
	section := slices.IndexFunc(argv, func(a string) bool { return strings.HasPrefix(a, "--name=") })
	all = slices.Clone(argv[:section])
	n := 0
	for from := section; from < len(argv); {
		to := from + 1
		for to < len(argv) && !strings.HasPrefix(argv[to], "--name=") {
			to++
		}
		workers, rest := 0, []string(nil)
		for _, a := range argv[from:to] {
			if v, is := strings.CutPrefix(a, "--numjobs="); is {
				workers, _ = strconv.Atoi(v)
			} else {
				rest = append(rest, a)
			}
		}
		for range workers {
			n++
			all = append(append(all, rest...), fmt.Sprintf("--write_iolog=%s/%d", dir, n))
		}
		from = to
	}
	return all
}

// arrivals are the instants of operations in seconds, without those that a worker starts at once, and the gaps of a worker by their mean.
func arrivals(t *testing.T, dir string) (all []float64, share float64, immediate int, apart []float64) {
	t.Helper()
	names, err := filepath.Glob(dir + "/*")
	if err != nil || len(names) == 0 {
		t.Fatal("fio wrote no log", err)
	}
	reads := 0
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var of [2][]float64
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var at float64
			var file, action string
			if n, _ := fmt.Sscan(lines.Text(), &at, &file, &action); n != 3 || action != "read" && action != "write" {
				continue
			}
			k := 0
			if action == "write" {
				k = 1
			}
			of[k] = append(of[k], at/1e6)
		}
		for k, one := range of {
			if len(one) == 0 {
				continue
			}
			immediate++
			all = append(all, one[1:]...)
			if k == 0 {
				reads += len(one) - 1
			}
			if own := gaps(one); len(own) > 2 {
				mean, _ := stat.Moments(own)
				for _, g := range own {
					apart = append(apart, g/mean)
				}
			}
		}
	}
	slices.Sort(all)
	return all, float64(reads) / float64(len(all)), immediate, apart
}

func gaps(at []float64) (all []float64) {
	for i := 1; i < len(at); i++ {
		all = append(all, at[i]-at[i-1])
	}
	return all
}

func variation(of []float64) float64 {
	mean, squares := stat.Moments(of)
	return math.Sqrt(squares/float64(len(of)-1)) / mean
}
