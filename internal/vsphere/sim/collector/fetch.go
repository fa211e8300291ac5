package collector

import (
	"reflect"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/replica"
)

// FetchResponse is the reply to Fetch. The original's type, like that of the request, is not
// exported.
type FetchResponse struct {
	//lint:ignore SA5008 govmomi's decoder of XML knows this option.
	Returnval types.AnyType `xml:"returnval,omitempty,typeattr"`
}

// fetchBody is the body of the reply to Fetch.
type fetchBody struct {
	Res    *FetchResponse `xml:"FetchResponse,omitempty"`
	Fault_ *soap.Fault    `xml:"http://schemas.xmlsoap.org/soap/envelope/ Fault,omitempty"`
}

// Fault is the fault of the reply.
func (b *fetchBody) Fault() *soap.Fault { return b.Fault_ }

// Fetch reads one property, as pyVmomi does. For an unset property, the original sends the
// reply of another method.
func (pc *Collector) Fetch(ctx *simulator.Context, r any) soap.HasFault {
	request := reflect.ValueOf(r).Elem()
	ref, _ := request.FieldByName("This").Interface().(types.ManagedObjectReference)
	name, _ := request.FieldByName("Prop").Interface().(string)
	if ctx.Session == nil || ref.Type == "ServiceInstance" || ctx.Session.Get(ref) == nil {
		original := reflect.ValueOf(&pc.PropertyCollector).MethodByName("Fetch")
		return original.Call([]reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(r)})[0].Interface().(soap.HasFault)
	}
	body := new(fetchBody)
	ctx.WithLock(ref, func() {
		v, ok := managed(ctx.Session.Get(ref))
		if !ok {
			return
		}
		value, err := property(v, name)
		if err != nil {
			body.Fault_ = simulator.Fault("", &types.InvalidProperty{Name: name})
			return
		}
		body.Res = &FetchResponse{Returnval: replica.Of(value)}
	})
	if body.Res == nil && body.Fault_ == nil {
		body.Fault_ = simulator.Fault("", &types.ManagedObjectNotFound{Obj: ref})
	}
	return body
}
