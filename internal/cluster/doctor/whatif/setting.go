package whatif

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/cluster"
)

// Setting is a reservation, limit or number of shares of a VM or a pool.
type Setting struct {
	Name     string
	Pool     bool
	Resource cluster.Resource
	Field    Field
	Value    int64 // MHz, bytes or shares; cluster.Unlimited for no limit
	// Level is the share level, if shares were given as a level.
	Level cluster.ShareLevel
}

// Field is one of the numbers of an allocation.
type Field string

// The fields.
const (
	Reservation Field = "reservation"
	Limit       Field = "limit"
	Shares      Field = "shares"
)

// mostShares is the maximum of vSphere.
const mostShares = 1_000_000

// ParseSetting reads settings such as NAME.cpu.shares=4000 and NAME.memory.limit=8GiB of a VM
// or a pool. If both have the name, pool:NAME is the pool and vm:NAME the VM.
func ParseSetting(c *cluster.Cluster, text string) (Setting, error) {
	wrong := func(format string, args ...any) (Setting, error) {
		return Setting{}, fmt.Errorf("setting %q: %s", text, fmt.Sprintf(format, args...))
	}
	i := strings.LastIndex(text, "=")
	if i < 0 {
		return wrong("write NAME.cpu.shares=4000, NAME.cpu.reservation=2GHz or NAME.memory.limit=none")
	}
	path, value := strings.Split(text[:i], "."), text[i+1:]
	n := len(path)
	if n < 3 {
		return wrong("write NAME.cpu.shares=4000, NAME.cpu.reservation=2GHz or NAME.memory.limit=none")
	}
	s := Setting{Name: strings.Join(path[:n-2], "."), Field: Field(path[n-1])}
	switch path[n-2] {
	case "cpu":
		s.Resource = cluster.CPU
	case "memory":
		s.Resource = cluster.Memory
	default:
		return wrong("the resource %q: must be cpu or memory", path[n-2])
	}
	if err := s.find(c); err != nil {
		return wrong("%v", err)
	}
	if err := s.parse(c, value); err != nil {
		return wrong("%v", err)
	}
	return s, s.check(c)
}

// find reports whether the name is a VM's or a pool's.
func (s *Setting) find(c *cluster.Cluster) error {
	name, pool := strings.CutPrefix(s.Name, "pool:")
	name, vm := strings.CutPrefix(name, "vm:")
	isVM := slices.ContainsFunc(c.VMs, func(v cluster.VM) bool { return v.Name == name })
	isPool := slices.ContainsFunc(c.Pools, func(p cluster.Pool) bool { return p.Name == name })
	switch {
	case isVM && isPool && !pool && !vm:
		return fmt.Errorf("a VM and a pool have the name %s: write vm:%s or pool:%s", name, name, name)
	case isPool && !vm && (pool || !isVM):
		s.Pool = true
	case !isVM || pool:
		return fmt.Errorf("the cluster has no VM or pool %q", name)
	}
	s.Name = name
	return nil
}

// parse reads the value.
func (s *Setting) parse(c *cluster.Cluster, value string) (err error) {
	switch s.Field {
	case Shares:
		if l := cluster.ShareLevel(value); l.Factor() > 0 {
			s.Level = l
			cpu, memory := cluster.PoolShares(l)
			if !s.Pool {
				vm := &c.VMs[s.index(c)]
				cpu, memory = cluster.VMShares(l, vm.VCPUs, vm.Memory)
			}
			s.Value = cpu
			if s.Resource == cluster.Memory {
				s.Value = memory
			}
			return nil
		}
		if s.Value, err = strconv.ParseInt(value, 10, 64); err != nil || s.Value < 1 || s.Value > mostShares {
			return fmt.Errorf("%q shares: must be low, normal, high or 1 to %d", value, mostShares)
		}
		s.Level = cluster.ShareCustom
		return nil
	case Limit:
		if value == "none" {
			s.Value = cluster.Unlimited
			return nil
		}
	case Reservation:
	default:
		return fmt.Errorf("%q: must be reservation, limit or shares", s.Field)
	}
	r, amount, err := ParseAmount(value)
	if err == nil && r != s.Resource && amount > 0 {
		return fmt.Errorf("%s is not an amount of %s", value, s.Resource)
	}
	s.Value = amount
	return err
}

// check rejects contradictions with other settings.
func (s *Setting) check(c *cluster.Cluster) error {
	a := *s.allocation(c)
	*s.of(&a) = s.Value
	if a.Reservation > a.Limit {
		return fmt.Errorf("setting %s: the reservation would be above the limit", s)
	}
	return nil
}

// units are the units of amounts.
var units = []struct {
	name string
	of   cluster.Resource
	size int64
}{{"MHz", cluster.CPU, 1}, {"GHz", cluster.CPU, 1000}, {"MiB", cluster.Memory, 1 << 20}, {"GiB", cluster.Memory, 1 << 30}, {"TiB", cluster.Memory, 1 << 40}}

// ParseAmount reads 2600MHz, 2.6GHz, 512MiB, 8GiB or 1TiB as MHz or bytes.
func ParseAmount(text string) (cluster.Resource, int64, error) {
	for _, u := range units {
		number, found := strings.CutSuffix(text, u.name)
		number = strings.TrimSpace(number)
		if !found || number == "" || len(number) > 18 || strings.Trim(number, "0123456789.") != "" {
			continue
		}
		if n, fine := new(big.Rat).SetString(number); fine {
			if n.Mul(n, new(big.Rat).SetInt64(u.size)); !n.IsInt() || !n.Num().IsInt64() || n.Num().Int64() > 1<<53 {
				return 0, 0, fmt.Errorf("%q is not a whole number of MHz or bytes, or too large", text)
			}
			return u.of, n.Num().Int64(), nil
		}
	}
	return 0, 0, fmt.Errorf("%q: must be an amount with its unit: MHz, GHz, MiB, GiB or TiB", text)
}

// index is the index of the VM or pool, whose name exists.
func (s *Setting) index(c *cluster.Cluster) int {
	if s.Pool {
		return slices.IndexFunc(c.Pools, func(p cluster.Pool) bool { return p.Name == s.Name })
	}
	return slices.IndexFunc(c.VMs, func(v cluster.VM) bool { return v.Name == s.Name })
}

// allocation is the allocation with the setting.
func (s *Setting) allocation(c *cluster.Cluster) *cluster.Allocation {
	i := s.index(c)
	switch {
	case s.Pool && s.Resource == cluster.CPU:
		return &c.Pools[i].CPU
	case s.Pool:
		return &c.Pools[i].Mem
	case s.Resource == cluster.CPU:
		return &c.VMs[i].CPU
	}
	return &c.VMs[i].Mem
}

func (s *Setting) of(a *cluster.Allocation) *int64 {
	switch s.Field {
	case Reservation:
		return &a.Reservation
	case Limit:
		return &a.Limit
	}
	return &a.Shares
}

// apply sets it in a cluster whose lists of VMs and pools may be changed.
func (s *Setting) apply(c *cluster.Cluster) {
	*s.of(s.allocation(c)) = s.Value
	if s.Pool && s.Field == Shares && s.Level != "" {
		c.Pools[s.index(c)].Level = s.Level
	}
}

// value is a value of the setting as text.
func (s *Setting) value(v int64) string {
	switch {
	case s.Field == Shares:
		return strconv.FormatInt(v, 10)
	case v == cluster.Unlimited:
		return "none"
	case s.Resource == cluster.CPU:
		return fmt.Sprintf("%dMHz", v)
	}
	return fmt.Sprintf("%dMiB", (v+1<<20-1)>>20)
}

// String is the text that ParseSetting reads.
func (s *Setting) String() string {
	prefix := ""
	if s.Pool {
		prefix = "pool:"
	}
	return fmt.Sprintf("%s%s.%s.%s=%s", prefix, s.Name, s.Resource, s.Field, s.value(s.Value))
}

// Script is the command of govc that sets it.
func (s *Setting) Script(c *cluster.Cluster) string {
	resource, value := "cpu", s.Value
	if s.Resource == cluster.Memory {
		if resource = "mem"; s.Field != Shares {
			value = (value + 1<<20 - 1) >> 20
		}
	}
	if s.Field == Limit && s.Value == cluster.Unlimited {
		value = -1
	}
	option := fmt.Sprintf("-%s.%s=%d", resource, s.Field, value)
	if !s.Pool {
		return fmt.Sprintf("govc vm.change -vm %s %s", quoted(stored.Replace(s.Name)), option)
	}
	path := ""
	for p, deep := s.index(c), 0; p > 0 && deep <= len(c.Pools); deep++ {
		path = "/" + stored.Replace(c.Pools[p].Name) + path
		p = int(c.Pools[p].Parent)
	}
	of := "*" // any cluster
	if c.Name != "" {
		of = stored.Replace(c.Name)
	}
	return fmt.Sprintf("govc pool.change %s %s", option, quoted(of+"/Resources"+path))
}

// stored has the escapes with which vSphere stores names.
var stored = strings.NewReplacer("%", "%25", "/", "%2f", `\`, "%5c")

// quoted quotes a word for a shell.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

var errPercent = errors.New("must be a percentage such as 5%, with at most one decimal")

// parsePerMille reads a percentage.
func parsePerMille(text string) (int, error) {
	number, found := strings.CutSuffix(text, "%")
	whole, tenth, pointed := strings.Cut(number, ".")
	n, err := strconv.Atoi(whole)
	if !found || err != nil || n < 0 || n > 99 || len(tenth) > 1 || pointed && tenth == "" {
		return 0, errPercent
	}
	t := 0
	if tenth != "" {
		if t, err = strconv.Atoi(tenth); err != nil || t < 0 {
			return 0, errPercent
		}
	}
	return 10*n + t, nil
}
