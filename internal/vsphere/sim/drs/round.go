package drs

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/vsphere/config"
	"plimsoll/internal/vsphere/sim/model"
	"plimsoll/internal/vsphere/sim/task"
)

// The ratings of recommendations: 5 is the most urgent.
const (
	mandatory  = 5
	worthwhile = 4
)

// round makes recommendations, publishes them, and starts to carry out automatic ones. It
// returns a channel that is closed at their end; nil if there are none. It does not move VMs
// with operations in progress; a calm round does not move recently moved ones either.
func (r *Room) round(ctx *simulator.Context, c *simulator.ClusterComputeResource, calm bool) <-chan struct{} {
	var list []types.ClusterRecommendation
	var faults []types.ClusterDrsFaults
	automatic := map[int]bool{}
	d := r.state(c.Self)
	r.model.Decide(r.own(ctx), c.Self, func(v *model.View) {
		if !config.Yes(v.DRS.Enabled) {
			return
		}
		var options advice.Options
		if calm {
			options = d.calm(v, r.tasks.Clock().Now())
		}
		held := d.held(r.tasks)
		layout, options := held.layout(v), held.options(v, options)
		plan := balance.Round(layout, v.Index, options)
		list = recommendations(v, &plan, held, r.tasks.Clock().Now())
		for i := range list {
			automatic[i] = isAutomatic(v, &list[i], automatic)
		}
		for _, s := range plan.Stranded {
			if !held.has(v, s.VM) {
				faults = append(faults, stranded(v, s))
			}
		}
		for _, u := range balance.Unmet(layout, v.Index, options, &plan) {
			if !held.has(v, u.VM) {
				faults = append(faults, unmet(v, &u))
			}
		}
	})
	list = d.propose(list, consent{r}.pending(ctx, d), faults)
	var now []types.ClusterRecommendation
	for i := range list {
		if automatic[i] {
			taken, _ := d.take(list[i].Key)
			now = append(now, taken...)
		}
	}
	r.publish(ctx, c.Self)
	if len(now) == 0 {
		return nil
	}
	return r.start(ctx, c, now)
}

// isAutomatic reports whether a recommendation is applied automatically, with its
// prerequisites.
func isAutomatic(v *model.View, rec *types.ClusterRecommendation, others map[int]bool) bool {
	for _, p := range rec.Prerequisite {
		var at int
		if fmt.Sscan(p, &at); !others[at] {
			return false
		}
	}
	for _, a := range rec.Action {
		if v.Behavior(a.(*types.ClusterMigrationAction).DrsMigration.Vm) != types.DrsBehaviorFullyAutomated {
			return false
		}
	}
	return true
}

// recommendations are the moves of a plan, one per step. Prerequisites are indexes of the
// list.
func recommendations(v *model.View, p *advice.Plan, held held, now time.Time) (list []types.ClusterRecommendation) {
	left := map[cluster.HostID][]int{} // recommendations that move VMs off a host
	for i := 0; i < len(p.Moves); {
		end := i + 1
		for end < len(p.Moves) && p.Moves[end].Number == p.Moves[i].Number {
			end++
		}
		moves := slices.DeleteFunc(slices.Clone(held.free(v, p.Moves[i:end])), func(m advice.Move) bool {
			return m.From == cluster.Nowhere || !v.Cluster.Hosts[m.From].Runs() // restarted by HA
		})
		i = end
		if len(moves) == 0 {
			continue
		}
		rec := recommendation(v, &moves[0], now)
		for k := range moves {
			rec.Action = append(rec.Action, action(v, &moves[k], now))
			for _, before := range left[moves[k].To] {
				if text := fmt.Sprint(before); !slices.Contains(rec.Prerequisite, text) && (moves[k].Reason.Mandatory()) {
					rec.Prerequisite = append(rec.Prerequisite, text)
				}
			}
		}
		for k := range moves {
			left[moves[k].From] = append(left[moves[k].From], len(list))
		}
		list = append(list, rec)
	}
	return list
}

func recommendation(v *model.View, m *advice.Move, now time.Time) types.ClusterRecommendation {
	target := v.Hosts[m.To]
	return types.ClusterRecommendation{
		Type: "V1", Time: now, Rating: rating(m), Reason: reason(v, m), Target: &target,
		ReasonText: sentence(v.Cluster, m),
	}
}

// action is the move of one VM. Loads of hosts are those before it.
func action(v *model.View, m *advice.Move, now time.Time) *types.ClusterMigrationAction {
	vm := v.VMs[m.VM]
	asks, from, to := v.Index.Demand(m.VM), v.Layout.Demand(m.From), v.Layout.Demand(m.To)
	return &types.ClusterMigrationAction{
		ClusterAction: types.ClusterAction{Type: "MigrationV1", Target: &vm},
		DrsMigration: &types.ClusterDrsMigration{
			Time: now, Vm: vm, CpuLoad: int32(asks.CPU), MemoryLoad: asks.Memory,
			Source: v.Hosts[m.From], SourceCpuLoad: int32(from.CPU), SourceMemoryLoad: from.Memory,
			Destination: v.Hosts[m.To], DestinationCpuLoad: int32(to.CPU), DestinationMemoryLoad: to.Memory,
		},
	}
}

// rating is 5 for mandatory moves, 4 for should-rules, and 1 to 4 for others, by the ratio of
// gain to cost.
func rating(m *advice.Move) int32 {
	switch {
	case m.Reason.Mandatory():
		return mandatory
	case m.Reason == advice.ShouldRule, m.Value.Cost <= 0, m.Value.Net() >= 8*m.Value.Cost:
		return worthwhile
	case m.Value.Net() >= 4*m.Value.Cost:
		return 3
	case m.Value.Net() >= 2*m.Value.Cost:
		return 2
	}
	return 1
}

// reason is the API's code of a reason.
func reason(v *model.View, m *advice.Move) string {
	switch m.Reason {
	case advice.MustRule, advice.ShouldRule:
		if m.Rule == cluster.Nowhere {
			return string(m.Reason)
		}
		return ruled(&v.Cluster.Rules[m.Rule])
	case advice.Reservation:
		if v.Layout.Reserved(m.From).CPU > v.Index.Capacity(m.From).CPU {
			return string(types.RecommendationReasonCodeReservationCpu)
		}
		return string(types.RecommendationReasonCodeReservationMem)
	case advice.MakeRoom:
		return string(types.RecommendationReasonCodeUnreservedCapacity)
	}
	return string(m.Reason)
}

// ruled is the API's code of a rule as a reason.
func ruled(r *cluster.Rule) string {
	switch {
	case r.Kind == cluster.Together:
		return string(types.RecommendationReasonCodeJointAffin)
	case r.Kind == cluster.Apart:
		return string(types.RecommendationReasonCodeAntiAffin)
	case r.Must:
		return string(types.RecommendationReasonCodeVmHostHardAffinity)
	}
	return string(types.RecommendationReasonCodeVmHostSoftAffinity)
}

var sentences = map[advice.Reason]string{
	advice.HostMaintenance: "Host is entering maintenance mode",
	advice.Reservation:     "Satisfy reservations",
	advice.MakeRoom:        "Make room for another VM",
	advice.FairCPU:         "Balance average CPU loads",
	advice.FairMemory:      "Balance average memory loads",
}

func sentence(c *cluster.Cluster, m *advice.Move) string {
	text := sentences[m.Reason]
	if m.Rule != cluster.Nowhere {
		text = "Apply the rule " + c.Rules[m.Rule].Name
	}
	if m.Note != "" {
		text += ": " + m.Note
	}
	return text
}

// start carries out recommendations in a task of the cluster.
func (r *Room) start(ctx *simulator.Context, c *simulator.ClusterComputeResource, list []types.ClusterRecommendation) <-chan struct{} {
	done := make(chan struct{})
	r.state(c.Self).begin(list)
	r.tasks.Start(r.own(ctx), task.Operation{Name: "applyRecommendation", On: c, Apart: true, Do: func(own *simulator.Context) (types.AnyType, types.BaseMethodFault) {
		defer close(done)
		return nil, r.apply(own, c.Self, list)
	}})
	return done
}

// apply carries out recommendations in order, except those with a failed prerequisite. It
// returns the first fault.
func (r *Room) apply(own *simulator.Context, of reference, list []types.ClusterRecommendation) (first types.BaseMethodFault) {
	d := r.state(of)
	d.working.Lock()
	defer d.working.Unlock()
	defer r.publish(own, of)
	failed := map[string]bool{}
	for _, rec := range list {
		failed[rec.Key] = slices.ContainsFunc(rec.Prerequisite, func(key string) bool { return failed[key] })
		if !failed[rec.Key] {
			fault := d.carryOut(&rec, r.tasks.Clock().Now, func(a types.BaseClusterAction) (types.BaseMethodFault, string) { return r.act(own, a) })
			failed[rec.Key] = fault != nil
			first = cmp.Or(first, fault)
		}
		d.end(&rec)
	}
	return first
}

// act carries out an action of a recommendation, and waits for its end.
func (r *Room) act(own *simulator.Context, a types.BaseClusterAction) (fault types.BaseMethodFault, why string) {
	is, moves := a.(*types.ClusterMigrationAction)
	if !moves {
		return consent{r}.placed(own, a.(*types.ClusterInitialPlacementAction))
	}
	m := is.DrsMigration
	if r.model.Host(m.Vm) != m.Source {
		return &types.InvalidArgument{InvalidProperty: "key"}, "the VM has already left the host"
	}
	if fault := r.move(own, m.Vm, m.Destination); fault != nil {
		return fault, fmt.Sprintf("%T", fault)
	}
	r.migrated(own, m)
	return nil, ""
}
