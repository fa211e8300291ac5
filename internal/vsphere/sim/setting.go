package sim

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/simulator/vpx"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/config"
	"plimsoll/internal/vsphere/sim/task"
)

// settings add whether operations take their modelled times to those of the vCenter. A session sets that to "off" and
// "on" for itself.
type settings struct{ tasks *task.Runner }

func (s settings) wrap(of mo.Reference) mo.Reference {
	if o, is := of.(*simulator.OptionManager); is && o.Self == *vpx.ServiceContent.Setting {
		return &optionManager{o, s.tasks}
	}
	return nil
}

// optionManager is the shadow of the vCenter's settings.
type optionManager struct {
	*simulator.OptionManager
	tasks *task.Runner
}

// QueryOptions reads settings.
func (m *optionManager) QueryOptions(ctx *simulator.Context, r *types.QueryOptions) soap.HasFault {
	if r.Name != config.ModelledTimes {
		return m.OptionManager.QueryOptions(r)
	}
	value := "on"
	if ctx.Session != nil && m.tasks.Untimed(ctx.Session.Key) {
		value = "off"
	}
	return &methods.QueryOptionsBody{Res: &types.QueryOptionsResponse{Returnval: []types.BaseOptionValue{&types.OptionValue{Key: config.ModelledTimes, Value: value}}}}
}

// UpdateOptions changes settings.
func (m *optionManager) UpdateOptions(ctx *simulator.Context, r *types.UpdateOptions) soap.HasFault {
	body := new(methods.UpdateOptionsBody)
	var rest []types.BaseOptionValue
	for _, o := range r.ChangedValue {
		v := o.GetOptionValue()
		if v.Key != config.ModelledTimes {
			rest = append(rest, o)
			continue
		}
		if v.Value != "on" && v.Value != "off" || ctx.Session == nil {
			body.Fault_ = simulator.Fault("", &types.InvalidArgument{InvalidProperty: v.Key})
			return body
		}
		m.tasks.SetUntimed(ctx.Session.Key, v.Value == "off")
	}
	if len(rest) > 0 {
		return m.OptionManager.UpdateOptions(&types.UpdateOptions{This: r.This, ChangedValue: rest})
	}
	body.Res = new(types.UpdateOptionsResponse)
	return body
}
