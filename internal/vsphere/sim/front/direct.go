package front

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/envelope"
)

// Frequent calls are served here, without the simulator's general XML encoder and decoder, if
// their messages are common and their session is known. The simulator serves all others.

// usual are calls that need neither the connection nor the headers, with their methods.
var usual = map[string]string{
	"PowerOnVM_Task": "PowerOnVMTask", "PowerOffVM_Task": "PowerOffVMTask", "SuspendVM_Task": "SuspendVMTask", "ResetVM_Task": "ResetVMTask",
	"RelocateVM_Task": "RelocateVMTask", "MigrateVM_Task": "MigrateVMTask", "CloneVM_Task": "CloneVMTask", "CreateVM_Task": "CreateVMTask",
	"ReconfigVM_Task": "ReconfigVMTask", "Destroy_Task": "DestroyTask", "CreateSnapshot_Task": "CreateSnapshotTask",
	"RemoveAllSnapshots_Task": "RemoveAllSnapshotsTask", "RevertToCurrentSnapshot_Task": "RevertToCurrentSnapshotTask", "CurrentTime": "CurrentTime",
	"CreatePropertyCollector": "CreatePropertyCollector", "DestroyPropertyCollector": "DestroyPropertyCollector", "CreateFilter": "CreateFilter",
	"DestroyPropertyFilter": "DestroyPropertyFilter", "WaitForUpdatesEx": "WaitForUpdatesEx", "RetrievePropertiesEx": "RetrievePropertiesEx", "ModifyListView": "ModifyListView",
}

// largest is the maximum size of a message that is decoded here, in bytes.
const largest = 1 << 20

// sessionEpoch is the state of sessions for a call that the simulator serves.
type sessionEpoch struct {
	began uint64
	ends  bool // the call may end sessions
}

// sessionEpochKey is its key in the context of the call.
type sessionEpochKey struct{}

// direct answers a call in a context, or leaves it to the simulator, with its body unread.
func (f *Front) direct(ctx context.Context, w http.ResponseWriter, r *http.Request, key string) bool {
	session := f.known(key)
	if session == nil || r.Method != http.MethodPost || r.URL.Path != vim25.Path || r.ContentLength <= 0 || r.ContentLength > largest || r.Header.Get("Content-Encoding") != "" {
		return false
	}
	body := make([]byte, r.ContentLength)
	if _, err := io.ReadFull(r.Body, body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return true
	}
	name, request, ok := envelope.Call(body, types.TypeFunc())
	method, is := usual[name]
	if !ok || !is {
		r.Body = io.NopCloser(bytes.NewReader(body))
		return false
	}
	this := reflect.ValueOf(request).Elem().FieldByName("This").Interface().(types.ManagedObjectReference)
	own := *f.base
	own.Context, own.Session, own.Caller = ctx, session, &this
	f.touch(key, 1)
	defer f.touch(key, -1)
	reply(w, f.call(&own, &simulator.Method{Name: name, This: this, Body: request}, method))
	return true
}

// known is the session of a key, if earlier calls have shown that it is valid.
func (f *Front) known(key string) *simulator.Session {
	f.m.Lock()
	defer f.m.Unlock()
	s := f.sessions[key]
	if s == nil || s.session == nil || s.era != f.era.Load() {
		return nil
	}
	own := *s.session
	return &own
}

func (f *Front) touch(key string, calls int) {
	f.m.Lock()
	defer f.m.Unlock()
	if s := f.sessions[key]; s != nil {
		s.calls, s.last = max(0, s.calls+calls), time.Now()
	}
}

// learn records a session that the simulator found valid in a call of the present era. A call
// that may end sessions starts a new era. The front is locked.
func (f *Front) learn(s *activity, ctx *simulator.Context, call *simulator.Method) {
	e, is := ctx.Context.Value(sessionEpochKey{}).(*sessionEpoch)
	switch {
	case !is:
	case call.This.Type == "SessionManager":
		e.ends = true
		f.era.Add(1)
	case e.began == f.era.Load():
		s.session, s.era = ctx.Session, e.began
	}
}

// within is a request with its era.
func (f *Front) within(r *http.Request) (*http.Request, *sessionEpoch) {
	e := &sessionEpoch{began: f.era.Load()}
	return r.WithContext(context.WithValue(r.Context(), sessionEpochKey{}, e)), e
}

// call carries out a call like the simulator.
func (f *Front) call(ctx *simulator.Context, call *simulator.Method, method string) soap.HasFault {
	handler, fault := ctx.Map.Handler(ctx, call)
	if fault != nil {
		return &failed{simulator.Fault("", fault)}
	}
	if h := ctx.Session.Get(call.This); h != nil {
		handler = h
	} else if handler == nil {
		handler = ctx.Map.Get(call.This)
	}
	if handler == nil {
		return &failed{simulator.Fault("managed object not found: "+call.This.String(), &types.ManagedObjectNotFound{Obj: call.This})}
	}
	m, has := methodOf(handler, method)
	if !has {
		return &failed{simulator.Fault(call.This.String()+" does not implement: "+call.Name, &types.MethodNotFound{Receiver: call.This, Method: call.Name})}
	}
	if e, ok := handler.(mo.Entity); ok {
		for _, off := range e.Entity().DisabledMethod {
			if off == method {
				return &failed{simulator.Fault(call.This.String()+" method is disabled: "+call.Name, &types.MethodDisabled{})}
			}
		}
	}
	args := make([]reflect.Value, 0, 2)
	if m.Type().NumIn() == cap(args) {
		args = append(args, reflect.ValueOf(ctx))
	}
	args = append(args, reflect.ValueOf(call.Body))
	if own, is := handler.(sync.Locker); is {
		own.Lock()
		defer own.Unlock()
		return m.Call(args)[0].Interface().(soap.HasFault)
	}
	var res []reflect.Value
	ctx.WithLock(call.This, func() { res = m.Call(args) })
	return res[0].Interface().(soap.HasFault)
}

// named is a method of a type.
type named struct {
	of   reflect.Type
	name string
}

// indexes are those of methods by type and name, which never change.
var indexes sync.Map

// methodOf is a method of an object. The search for a name takes longer than most calls.
func methodOf(of any, name string) (m reflect.Value, has bool) {
	v := reflect.ValueOf(of)
	key := named{v.Type(), name}
	if i, known := indexes.Load(key); known {
		return v.Method(i.(int)), true
	}
	found, has := v.Type().MethodByName(name)
	if !has {
		return m, false
	}
	indexes.Store(key, found.Index)
	return v.Method(found.Index), true
}

// failed is the body of a fault reply.
type failed struct{ reason *soap.Fault }

// Fault is the fault.
func (b *failed) Fault() *soap.Fault { return b.reason }
