"""A session with pyVmomi: inventory, power, clone, relocate, property updates with a filter, storage policies.

Prints a line for each step. Usage: pyvmomi_session.py HOST PORT SHA1-THUMBPRINT USER (password in VCENTER_PASSWORD)
"""

import os
import sys
from http.cookies import SimpleCookie

from pyVim.connect import Disconnect, SmartConnect
from pyVim.task import WaitForTask
from pyVmomi import SoapStubAdapter, VmomiSupport, pbm, vim, vmodl


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


def policies(si, host, port, thumbprint, vm):
    """The life of a storage policy."""
    VmomiSupport.GetRequestContext()["vcSessionCookie"] = SimpleCookie(si._stub.cookie)["vmware_soap_session"].value
    stub = SoapStubAdapter(host=host, port=port, path="/pbm/sdk", version="pbm.version.version11", thumbprint=thumbprint, sslContext=si._stub.schemeArgs.get("context"))
    content = pbm.ServiceInstance("ServiceInstance", stub).RetrieveContent()
    manager, compliance, solver = content.profileManager, content.complianceManager, content.placementSolver
    storage = pbm.profile.ResourceType(resourceType=pbm.profile.ResourceTypeEnum.STORAGE)
    known = manager.PbmRetrieveContent(profileIds=manager.PbmQueryProfile(resourceType=storage, profileCategory="REQUIREMENT"))
    check("storage policies", "vSAN Default Storage Policy" in [p.name for p in known])
    cap, profiles = pbm.capability, pbm.profile
    rule = cap.CapabilityInstance(
        id=cap.CapabilityMetadata.UniqueId(namespace="store", id="kind"),
        constraint=[cap.ConstraintInstance(propertyInstance=[cap.PropertyInstance(id="kind", value="block")])],
    )
    asks = profiles.SubProfileCapabilityConstraints(subProfiles=[profiles.SubProfileCapabilityConstraints.SubProfile(name="set", capability=[rule])])
    profile = manager.PbmCreate(createSpec=profiles.CapabilityBasedProfileCreateSpec(name="py", category="REQUIREMENT", resourceType=storage, constraints=asks))
    WaitForTask(vm.Reconfigure(vim.vm.ConfigSpec(vmProfile=[vim.vm.DefinedProfileSpec(profileId=profile.uniqueId)])))
    entity = pbm.ServerObjectRef(objectType="virtualMachine", key=vm._moId)
    check("association", [p.uniqueId for p in manager.PbmQueryAssociatedProfile(entity=entity)] == [profile.uniqueId])
    check("associated VMs", [e.key for e in manager.PbmQueryAssociatedEntity(profile=profile)] == [vm._moId])
    result = compliance.PbmCheckCompliance(entities=[entity])[0]
    check("compliance of what no datastore offers", result.complianceStatus == "unknown" and result.profile.uniqueId == profile.uniqueId)
    roll = compliance.PbmCheckRollupCompliance(entity=[entity])[0]
    check("roll-up", roll.overallComplianceStatus == "unknown" and len(roll.result) == 1)
    check("VMs of a status", [e.key for e in compliance.PbmQueryByRollupComplianceStatus(status="unknown")] == [vm._moId])
    check("placement", all(len(r.error) > 0 for r in solver.PbmCheckCompatibility(profile=profile)))
    rule.constraint[0].propertyInstance[0].value = "file"
    manager.PbmUpdate(profileId=profile, updateSpec=profiles.CapabilityBasedProfileUpdateSpec(constraints=asks))
    result = compliance.PbmFetchComplianceResult(entities=[entity])[0]
    check("a changed policy is out of date", result.complianceStatus == "outOfDate" and result.mismatch)
    check("a policy in use is not deleted", len(manager.PbmDelete(profileId=[profile])) == 1)
    WaitForTask(vm.Reconfigure(vim.vm.ConfigSpec(vmProfile=[vim.vm.EmptyProfileSpec()])))
    check("deletion", len(manager.PbmDelete(profileId=[profile])) == 0)
    try:
        manager.PbmRetrieveContent(profileIds=[profile])
        check("a policy that is gone", False)
    except vmodl.fault.InvalidArgument:
        check("a policy that is gone", True)


def counters(si, content):
    """Performance counters: what the VMs of a host use is what the host uses, besides the hypervisor."""
    manager = content.perfManager
    keys = {f"{c.groupInfo.key}.{c.nameInfo.key}.{c.rollupType}": c.key for c in manager.perfCounter}
    host = view(content, [vim.HostSystem]).view[0]
    summary = manager.QueryPerfProviderSummary(host)
    check("provider", summary.currentSupported and summary.refreshRate == 20)
    available = {m.counterId for m in manager.QueryAvailablePerfMetric(host, intervalId=20)}
    wanted = [keys[n] for n in ("cpu.usagemhz.average", "cpu.ready.summation", "mem.consumed.average")]
    check("available counters", available.issuperset(wanted))
    ids = [vim.PerformanceManager.MetricId(counterId=k, instance="") for k in wanted]
    spec = vim.PerformanceManager.QuerySpec(entity=host, metricId=ids, intervalId=20, maxSample=30)
    composite = manager.QueryPerfComposite(spec)
    of_host = {s.id.counterId: list(s.value) for s in composite.entity.value}
    times = [s.timestamp for s in composite.entity.sampleInfo]
    check("samples", len(times) == 30 and times == sorted(times) and times[-1] <= si.CurrentTime())
    check("values", all(len(v) == 30 for v in of_host.values()))
    used = [sum(v) for v in zip(*([int(x) for x in s.value] for c in composite.childEntity for s in c.value
                                  if s.id.counterId == wanted[0] and len(s.value) == 30))]
    own = {h - v for h, v in zip(of_host[wanted[0]], used)}
    check("sums", used and max(own) - min(own) <= len(composite.childEntity))
    day = vim.PerformanceManager.QuerySpec(entity=host.parent, metricId=ids[:1], intervalId=300, format="csv")
    answer = manager.QueryPerf([day])[0]
    check("a day of the cluster", len(answer.value[0].value.split(",")) >= 287)
    pool = host.parent.resourcePool.runtime
    check("pool", pool.cpu.overallUsage > 0 and pool.memory.unreservedForVm > 0)
    usage = host.parent.GetResourceUsage()
    check("usage", 0 < usage.cpuUsedMHz < usage.cpuCapacityMHz)


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
    counters(si, content)
    policies(si, host, int(port), thumbprint, vm)
    Disconnect(si)
    print("done")


main()
