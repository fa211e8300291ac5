// Package folder makes the folders of VMs when something may look at them. Most clones are gone before, and a folder
// costs more than the rest of a clone.
package folder

import (
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// Folders are those that are not there yet.
type Folders struct {
	m    sync.Mutex
	list map[string]bool
}

// New has no folders.
func New() *Folders { return &Folders{list: map[string]bool{}} }

// Plan has a folder made later.
func (f *Folders) Plan(dir string) {
	f.m.Lock()
	defer f.m.Unlock()
	f.list[dir] = true
}

// Drop forgets a folder, and reports whether it was never made.
func (f *Folders) Drop(dir string) bool {
	f.m.Lock()
	defer f.m.Unlock()
	planned := f.list[dir]
	delete(f.list, dir)
	return planned
}

// Create makes all folders. One that cannot be made is missing for who looks.
func (f *Folders) Create() {
	f.m.Lock()
	defer f.m.Unlock()
	for dir := range f.list {
		_ = os.Mkdir(dir, 0o700)
	}
	clear(f.list)
}

// Files serves requests by next: those for files with all folders.
func (f *Folders) Files(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/sdk") {
			f.Create()
		}
		next.ServeHTTP(w, r)
	})
}

// blind are the types of objects whose calls look at no files, and the calls of VMs that do not.
var blind = map[string]bool{
	"PropertyCollector": true, "PropertyFilter": true, "ContainerView": true, "ListView": true, "ViewManager": true, "Task": true, "SessionManager": true,
	"ServiceInstance": true, "EventManager": true, "EventHistoryCollector": true, "PerformanceManager": true,
	"PowerOnVM_Task": true, "PowerOffVM_Task": true, "SuspendVM_Task": true, "ResetVM_Task": true, "RelocateVM_Task": true, "MigrateVM_Task": true,
	"CloneVM_Task": true, "ReconfigVM_Task": true, "Destroy_Task": true, "CreateSnapshot_Task": true, "RemoveAllSnapshots_Task": true,
	"RevertToCurrentSnapshot_Task": true,
}

// Check makes all folders before calls that may look at them. It refuses none.
func (f *Folders) Check(_ *simulator.Context, call *simulator.Method) types.BaseMethodFault {
	if of := call.This.Type; !blind[of] && (of != "VirtualMachine" || !blind[call.Name]) {
		f.Create()
	}
	return nil
}
