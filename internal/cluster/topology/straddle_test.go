package topology

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var countWords = regexp.MustCompile(`(\d+) vCPUs \(`)

// For every size of VM on existing kinds of hosts: nodes are as few and as even as rules T2
// and T7 allow, no socket straddles two of them, and if they cannot be even the recommendation
// names numbers of vCPUs that can.
func TestNoSocketStraddlesNodes(t *testing.T) {
	uneven := 0
	for _, sockets := range []int{1, 2, 4, 8} {
		for _, nodes := range []int{1, 2, 4} {
			for _, cores := range []int{4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 28, 32, 40, 48, 56, 64} {
				h := Shape{Name: "h", Sockets: sockets, NodesPerSocket: nodes, CoresPerNode: cores, ThreadsPerCore: 2}
				for n := 1; n <= min(h.Cores(), 128); n++ {
					a := advise(t, VM{VCPUs: n}, Options{}, h)
					var got []int
					for _, node := range a.Nodes {
						got = append(got, node.VCPUs)
					}
					where := strconv.Itoa(n) + " vCPUs on " + strconv.Itoa(h.Nodes()) + " x " + strconv.Itoa(cores)
					least := up(n, cores)
					if a.Sockets*a.CoresPerSocket != n || slices.Max(got) > cores || slices.Max(got)-slices.Min(got) > 1 || len(got) < least || len(got) > least+1 {
						t.Fatalf("%s: %d sockets of %d, nodes %v", where, a.Sockets, a.CoresPerSocket, got)
					}
					if placed := grouped(n, a.CoresPerSocket, len(got)); !slices.Equal(placed, got) {
						t.Fatalf("%s: sockets of %d make nodes of %v, advised %v", where, a.CoresPerSocket, placed, got)
					}
					even := n%len(got) == 0
					if even == graded(a, Odd) || len(got) > least && !even || !even && n%least == 0 {
						t.Fatalf("%s: nodes %v, grade %s", where, got, a.Grade)
					}
					if !even {
						uneven++
						checkAlternatives(t, a, n, h)
					}
				}
			}
		}
	}
	if uneven < 100 {
		t.Errorf("%d uneven sizes were seen", uneven)
	}
}

func graded(a Advice, g Grade) bool {
	return slices.ContainsFunc(a.Reasons, func(r Reason) bool { return r.Grade == g })
}

// checkAlternatives verifies the recommended numbers of vCPUs.
func checkAlternatives(t *testing.T, a Advice, n int, h Shape) {
	t.Helper()
	i := slices.IndexFunc(a.Reasons, func(r Reason) bool { return r.Grade == Odd && r.Rule == "T7" })
	if i < 0 {
		t.Fatalf("%d vCPUs: no reason", n)
	}
	_, text, _ := strings.Cut(a.Reasons[i].Text, ": give it ")
	found := countWords.FindAllStringSubmatch(text, -1)
	if len(found) == 0 {
		t.Fatalf("%d vCPUs: %q names no other number", n, a.Reasons[i].Text)
	}
	for _, m := range found {
		other, _ := strconv.Atoi(m[1])
		b := advise(t, VM{VCPUs: other}, Options{}, h)
		if other > h.Cores() || graded(b, Odd) || other == n {
			t.Fatalf("%d vCPUs: %q names %d, which is %s", n, a.Reasons[i].Text, other, b.Grade)
		}
	}
}
