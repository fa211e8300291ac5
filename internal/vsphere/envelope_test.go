package vsphere_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	pbmmethods "github.com/vmware/govmomi/pbm/methods"
	pbm "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"

	"plimsoll/internal/difftest"
	"plimsoll/internal/vsphere/envelope"
)

var (
	someVM   = types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-7"}
	someHost = types.ManagedObjectReference{Type: "HostSystem", Value: "host-9"}
	oddText  = "a <b> & \"c\" 'd'\t\n ünï"
)

// requests are bodies of calls; plain are those that this package is to write.
var requests = []struct {
	plain bool
	body  soap.HasFault
}{
	{true, &methods.PowerOnVM_TaskBody{Req: &types.PowerOnVM_Task{This: someVM, Host: &someHost}}},
	{true, &methods.PowerOffVM_TaskBody{Req: &types.PowerOffVM_Task{This: someVM}}},
	{true, &methods.CreateSnapshot_TaskBody{Req: &types.CreateSnapshot_Task{This: someVM, Name: oddText, Quiesce: true}}},
	{true, &methods.RelocateVM_TaskBody{Req: &types.RelocateVM_Task{This: someVM, Spec: types.VirtualMachineRelocateSpec{Host: &someHost, DiskMoveType: "x"}, Priority: types.VirtualMachineMovePriorityHighPriority}}},
	{true, &methods.CloneVM_TaskBody{Req: &types.CloneVM_Task{This: someVM, Folder: someHost, Name: "b", Spec: types.VirtualMachineCloneSpec{PowerOn: true, Memory: types.NewBool(false)}}}},
	{true, &methods.ReconfigVM_TaskBody{Req: &types.ReconfigVM_Task{This: someVM, Spec: types.VirtualMachineConfigSpec{NumCPUs: 4, Annotation: oddText, CpuAllocation: &types.ResourceAllocationInfo{
		Reservation: types.NewInt64(-1), Shares: &types.SharesInfo{Level: types.SharesLevelCustom, Shares: 7},
	}}}}},
	{true, &methods.WaitForUpdatesExBody{Req: &types.WaitForUpdatesEx{This: someVM, Version: "3", Options: &types.WaitOptions{MaxWaitSeconds: types.NewInt32(0)}}}},
	{true, &methods.CreateFilterBody{Req: &types.CreateFilter{This: someVM, Spec: types.PropertyFilterSpec{
		PropSet: []types.PropertySpec{{Type: "Task", PathSet: []string{"info", oddText}}, {All: types.NewBool(true)}}, ObjectSet: []types.ObjectSpec{{Obj: someVM}, {Obj: someHost, Skip: types.NewBool(true)}},
	}}}},
	{true, &methods.QueryPerfBody{Req: &types.QueryPerf{This: someVM, QuerySpec: []types.PerfQuerySpec{{Entity: someVM, StartTime: someTime(), IntervalId: 20, MetricId: []types.PerfMetricId{{CounterId: 3}}}}}}},
	{true, &methods.LoginBody{Req: &types.Login{This: someVM, UserName: "o", Password: oddText}}},
	{true, &methods.CreateFilterBody{Req: &types.CreateFilter{This: someVM, Spec: types.PropertyFilterSpec{ObjectSet: []types.ObjectSpec{{Obj: someVM, SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Path: "view"}}}}}}}},
	{true, &methods.ReconfigVM_TaskBody{Req: &types.ReconfigVM_Task{This: someVM, Spec: types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "a", Value: "b"}}}}}},
	{false, &methods.PowerOffVM_TaskBody{Req: &types.PowerOffVM_Task{This: types.ManagedObjectReference{Type: "VirtualMachine", Value: "\x01"}}}},
}

// changes are of most of the types that replies have.
func changes() (list []types.PropertyChange) {
	for _, v := range []any{
		true, int8(-3), int16(4), int32(5), int64(1 << 40), oddText, *someTime(), someVM, types.TaskInfoStateSuccess, types.ArrayOfManagedObjectReference{ManagedObjectReference: []types.ManagedObjectReference{someVM, someHost}},
		types.ArrayOfString{String: []string{"a", oddText}}, types.VirtualMachineQuickStats{OverallCpuUsage: 7, GuestHeartbeatStatus: types.ManagedEntityStatusGreen},
		types.TaskInfo{Key: "k", Task: someVM, State: types.TaskInfoStateError, Entity: &someHost, QueueTime: *someTime(), StartTime: someTime(), Result: someHost, Reason: &types.TaskReasonUser{UserName: oddText},
			Error: &types.LocalizedMethodFault{LocalizedMessage: "no", Fault: &types.InvalidPowerState{RequestedState: types.VirtualMachinePowerStatePoweredOn}}},
	} {
		list = append(list, types.PropertyChange{Name: "p", Op: types.PropertyChangeOpAssign, Val: v})
	}
	return append(list, types.PropertyChange{Name: "gone", Op: types.PropertyChangeOpAssign})
}

func someTime() *time.Time {
	at := time.Date(2026, 11, 23, 7, 8, 9, 123456000, time.UTC)
	return &at
}

// general is the message of a call as govmomi's client writes it.
func general(t testing.TB, body soap.HasFault) []byte {
	t.Helper()
	text, err := xml.Marshal(soap.Envelope{Body: body})
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte(xml.Header), text...)
}

func TestCallsAreThoseOfTheGeneralWriterAndReader(t *testing.T) {
	for _, r := range requests {
		name := reflect.TypeOf(r.body).String()
		text, ok := envelope.Request(r.body, "")
		if ok != r.plain {
			t.Errorf("%s: plain %v, want %v", name, ok, r.plain)
		}
		for _, text := range [][]byte{text, general(t, r.body)} {
			want, err := simulator.UnmarshalBody(types.TypeFunc(), text)
			if !ok {
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v in %s", name, err, text)
			}
			if diff := difftest.Lines(want.Body, reflect.ValueOf(r.body).Elem().FieldByName("Req").Interface()); diff != "" {
				t.Errorf("%s: what was written is read as other: %s", name, diff)
			}
			called, got, ok := envelope.Call(text, types.TypeFunc())
			if !ok {
				t.Errorf("%s cannot be read from %s", name, text)
			} else if diff := difftest.Lines(got, want.Body); diff != "" || called != want.Name {
				t.Errorf("%s %s: %s", name, called, diff)
			}
		}
	}
}

// A call to an endpoint beside that of vSphere has the session in its header.
func TestSessionInTheHeader(t *testing.T) {
	body := &pbmmethods.PbmFetchComplianceResultBody{Req: &pbm.PbmFetchComplianceResult{This: someVM, Entities: []pbm.PbmServerObjectRef{{ObjectType: "virtualMachine", Key: "vm-7"}}}}
	text, ok := envelope.Request(body, oddText)
	if !ok {
		t.Fatal("not plain")
	}
	want, err := xml.Marshal(soap.Envelope{Header: &soap.Header{Cookie: &soap.HeaderElement{Value: oddText}}, Body: body})
	if err != nil {
		t.Fatal(err)
	}
	if diff := difftest.Lines(message(t, text), message(t, want)); diff != "" {
		t.Errorf("%s: %s", text, diff)
	}
}

// message reads a call with its header.
func message(t *testing.T, text []byte) *soap.Envelope {
	t.Helper()
	e := &soap.Envelope{Header: new(soap.Header), Body: new(pbmmethods.PbmFetchComplianceResultBody)}
	d := xml.NewDecoder(bytes.NewReader(text))
	d.TypeFunc = types.TypeFunc()
	if err := d.Decode(e); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if e.Header.Cookie == nil || e.Header.Cookie.Value != oddText {
		t.Errorf("no session in %s", text)
	}
	return e
}

func TestRepliesAreThoseOfTheGeneralReader(t *testing.T) {
	for _, body := range []soap.HasFault{
		&methods.PowerOnVM_TaskBody{Res: &types.PowerOnVM_TaskResponse{Returnval: someHost}},
		&methods.DestroyPropertyFilterBody{Res: new(types.DestroyPropertyFilterResponse)},
		&methods.CurrentTimeBody{Res: &types.CurrentTimeResponse{Returnval: *someTime()}},
		&methods.WaitForUpdatesExBody{Res: new(types.WaitForUpdatesExResponse)},
		&methods.WaitForUpdatesExBody{Res: &types.WaitForUpdatesExResponse{Returnval: &types.UpdateSet{Version: "4", FilterSet: []types.PropertyFilterUpdate{{Filter: someVM, ObjectSet: []types.ObjectUpdate{{
			Kind: types.ObjectUpdateKindEnter, Obj: someVM, ChangeSet: changes(),
		}}}}}}},
		&methods.ModifyListViewBody{Res: &types.ModifyListViewResponse{Returnval: []types.ManagedObjectReference{someVM, someHost}}},
	} {
		text, ok := envelope.Response(body)
		if !ok {
			t.Errorf("%T is not plain", body)
			continue
		}
		want, got := reflect.New(reflect.TypeOf(body).Elem()).Interface(), reflect.New(reflect.TypeOf(body).Elem()).Interface()
		d := xml.NewDecoder(bytes.NewReader(text))
		d.TypeFunc = types.TypeFunc()
		if err := d.Decode(&soap.Envelope{Body: want}); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if diff := difftest.Lines(want, any(body)); diff != "" {
			t.Errorf("%T is written as other: %s", body, diff)
		}
		if !envelope.Reply(text, got) {
			t.Errorf("cannot be read: %s", text)
		} else if diff := difftest.Lines(got, want); diff != "" {
			t.Errorf("%T: %s", body, diff)
		}
	}
	fault := &methods.PowerOnVM_TaskBody{Fault_: &soap.Fault{String: "no"}}
	if _, ok := envelope.Response(fault); ok {
		t.Error("a fault is plain")
	}
	if envelope.Reply(general(t, fault), new(methods.PowerOnVM_TaskBody)) {
		t.Error("a fault is read as a reply")
	}
}

// FuzzCall has what is read be what the general reader reads.
func FuzzCall(f *testing.F) {
	for _, r := range requests {
		f.Add(general(f, r.body))
		if text, ok := envelope.Request(r.body, ""); ok {
			f.Add(text)
			f.Add(bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")))
			f.Add([]byte(strings.NewReplacer("<Body>", "<soapenv:Body>", "</Body>", "</soapenv:Body>", "<_this ", "<!-- c --><_this xsi:type=\"x\" ").Replace(string(text))))
		}
	}
	f.Add([]byte("<Envelope xmlns=\"http://schemas.xmlsoap.org/soap/envelope/\"><Body><WaitForUpdatesEx xmlns=\"\x00\"></WaitForUpdatesEx></Body></Envelope>"))
	kinds := types.TypeFunc()
	f.Fuzz(func(t *testing.T, text []byte) {
		name, got, ok := envelope.Call(text, kinds)
		if !ok {
			return
		}
		if !reflect.ValueOf(got).Elem().FieldByName("This").IsValid() {
			return // no call
		}
		want, err := simulator.UnmarshalBody(kinds, text)
		if err != nil {
			t.Fatalf("read though the general reader says %v: %q", err, text)
		}
		if diff := difftest.Lines(got, want.Body); diff != "" || name != want.Name {
			t.Fatalf("%q: %s", text, diff)
		}
	})
}
