"""A session with pyVmomi: inventory, power, clone, relocate, property updates with a filter.

Prints a line for each step. Usage: pyvmomi_session.py HOST PORT SHA1-THUMBPRINT USER (password in VCENTER_PASSWORD)
"""

import os
import sys

from pyVim.connect import Disconnect, SmartConnect
from pyVim.task import WaitForTask
from pyVmomi import vim, vmodl


def view(content, kinds):
    return content.viewManager.CreateContainerView(content.rootFolder, kinds, True)


class Watch:
    """A property collector with a filter for the power state, host and name of all VMs."""

    def __init__(self, content):
        self.collector = content.propertyCollector.CreatePropertyCollector()
        self.view = view(content, [vim.VirtualMachine])
        pc = vmodl.query.PropertyCollector
        walk = pc.TraversalSpec(name="view", path="view", skip=False, type=vim.view.ContainerView)
        spec = pc.FilterSpec(
            objectSet=[pc.ObjectSpec(obj=self.view, skip=True, selectSet=[walk])],
            propSet=[pc.PropertySpec(type=vim.VirtualMachine, pathSet=["name", "runtime.powerState", "runtime.host"])],
        )
        self.filter = self.collector.CreateFilter(spec, True)
        self.version = ""

    def next(self):
        """What has changed, by VM: the kind of the update and the properties."""
        changes = {}
        while True:
            update = self.collector.WaitForUpdatesEx(self.version, pc_options(10))
            if update is None:
                return changes
            self.version = update.version
            for f in update.filterSet:
                for o in f.objectSet:
                    kind, props = changes.get(o.obj._moId, (o.kind, {}))
                    props.update({c.name: c.val for c in o.changeSet})
                    changes[o.obj._moId] = (kind, props)
            if not update.truncated:
                return changes

    def close(self):
        self.filter.Destroy()
        self.view.Destroy()
        self.collector.Destroy()


def pc_options(seconds):
    return vmodl.query.PropertyCollector.WaitOptions(maxWaitSeconds=seconds)


def check(what, ok):
    print(("ok " if ok else "FAILED ") + what)
    if not ok:
        sys.exit(1)


def main():
    host, port, thumbprint, user = sys.argv[1:5]
    si = SmartConnect(host=host, port=int(port), user=user, pwd=os.environ["VCENTER_PASSWORD"], thumbprint=thumbprint, disableSslCertValidation=True)
    content = si.RetrieveContent()
    check("about", content.about.apiType == "VirtualCenter")
    vms = view(content, [vim.VirtualMachine]).view
    hosts = view(content, [vim.HostSystem]).view
    check("inventory", len(vms) == 9 and len(hosts) == 3 and all(h.hardware.cpuInfo.numCpuCores > 0 for h in hosts))
    check("hosts list their VMs", all(vm in vm.runtime.host.vm for vm in vms))
    unreadable = []
    for o in [vms[0], hosts[0], hosts[0].parent, vms[0].resourcePool, vms[0].datastore[0], vms[0].network[0], content.rootFolder]:
        for p in o._GetPropertyList():
            try:
                o._stub.InvokeAccessor(o, p)
            except (vmodl.query.InvalidProperty, vmodl.fault.MethodNotFound):
                pass  # newer than the simulator
            except Exception as e:
                unreadable.append("%s.%s: %r" % (type(o).__name__, p.name, e))
    check("all properties can be read " + "; ".join(unreadable), not unreadable)
    vm = [v for v in vms if v.runtime.powerState == "poweredOn"][0]
    name = vm.name
    check("search", content.searchIndex.FindByUuid(None, vm.config.uuid, True) == vm)

    watch = Watch(content)
    check("first update", len(watch.next()) == 9)
    WaitForTask(vm.PowerOff())
    kind, props = watch.next()[vm._moId]
    check("update after power off", kind == "modify" and props == {"runtime.powerState": "poweredOff"})
    WaitForTask(vm.PowerOn())
    check("update after power on", watch.next()[vm._moId][1] == {"runtime.powerState": "poweredOn"})
    try:
        WaitForTask(vm.PowerOn())
        check("power on of a running VM is refused", False)
    except vim.fault.InvalidPowerState as e:
        check("power on of a running VM is refused", e.existingState == "poweredOn")

    target = [h for h in hosts if h != vm.runtime.host][0]
    source = vm.runtime.host
    WaitForTask(vm.Migrate(host=target, priority="defaultPriority"))
    check("migrate", vm.runtime.host == target and vm in target.vm and vm not in source.vm)
    check("update after migrate", watch.next()[vm._moId][1]["runtime.host"] == target)
    WaitForTask(vm.Relocate(vim.vm.RelocateSpec(host=source)))
    check("relocate", vm.runtime.host == source)
    watch.next()

    spec = vim.vm.CloneSpec(location=vim.vm.RelocateSpec(host=target), powerOn=True)
    clone = None
    WaitForTask(vm.Clone(folder=vm.parent, name="copy", spec=spec))
    clone = [v for v in view(content, [vim.VirtualMachine]).view if v.name == "copy"][0]
    check("clone", clone.runtime.powerState == "poweredOn" and clone.runtime.host == target and clone.config.uuid != vm.config.uuid)
    kind, props = watch.next()[clone._moId]
    check("update after clone", kind == "enter" and props["name"] == "copy")
    WaitForTask(clone.PowerOff())
    WaitForTask(clone.Reconfigure(vim.vm.ConfigSpec(numCPUs=4, numCoresPerSocket=2, memoryMB=4096)))
    check("reconfigure", clone.config.hardware.numCPU == 4 and clone.config.hardware.memoryMB == 4096)
    WaitForTask(clone.CreateSnapshot(name="s", description="", memory=False, quiesce=False))
    check("snapshot", clone.snapshot.rootSnapshotList[0].name == "s")
    WaitForTask(clone.snapshot.rootSnapshotList[0].snapshot.RemoveSnapshot_Task(removeChildren=True))
    check("no snapshot", clone.snapshot is None)
    moid = clone._moId
    WaitForTask(clone.Destroy())
    check("update after destroy", watch.next()[moid][0] == "leave")
    events = content.eventManager.QueryEvents(vim.event.EventFilterSpec(eventTypeId=["VmMigratedEvent"]))
    check("events", any(name in e.fullFormattedMessage for e in events))
    watch.close()
    Disconnect(si)
    print("done")


main()
