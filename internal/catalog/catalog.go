// Package catalog is the list of everything built in. To add a workload, a
// service, a platform, a factor or a source of counters is to add a line here.
package catalog

import (
	"context"
	"slices"

	"plimsoll/internal/catalog/subprocess"
	"plimsoll/internal/collect"
	"plimsoll/internal/factor"
	"plimsoll/internal/factor/power"
	"plimsoll/internal/factor/vm"
	"plimsoll/internal/images/cifar/included"
	"plimsoll/internal/live"
	hosts "plimsoll/internal/live/libvirt"
	domains "plimsoll/internal/live/libvirt/operation"
	"plimsoll/internal/live/proxmox"
	guests "plimsoll/internal/live/proxmox/operation"
	"plimsoll/internal/load"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/clustersim"
	"plimsoll/internal/platforms/fleet"
	"plimsoll/internal/platforms/guest"
	"plimsoll/internal/platforms/libvirt"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/platforms/sim"
	"plimsoll/internal/platforms/ssh"
	vsphereplatform "plimsoll/internal/platforms/vsphere"
	"plimsoll/internal/service"
	"plimsoll/internal/service/cassandra"
	"plimsoll/internal/service/ceph"
	"plimsoll/internal/service/classifier"
	provided "plimsoll/internal/service/live"
	"plimsoll/internal/service/mariadb"
	"plimsoll/internal/service/memcached"
	"plimsoll/internal/service/nginx"
	"plimsoll/internal/service/postgresql"
	"plimsoll/internal/service/redis"
	"plimsoll/internal/service/reflector"
	"plimsoll/internal/service/responder"
	"plimsoll/internal/service/spark"
	"plimsoll/internal/service/vcenter"
	"plimsoll/internal/study"
	"plimsoll/internal/vsphere"
	"plimsoll/internal/vsphere/balancing"
	policies "plimsoll/internal/vsphere/compliance"
	"plimsoll/internal/vsphere/counter"
	"plimsoll/internal/vsphere/operation"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/balance"
	"plimsoll/internal/workload/cluster"
	"plimsoll/internal/workload/compile/lua"
	"plimsoll/internal/workload/compliance"
	"plimsoll/internal/workload/cqliot/driver"
	"plimsoll/internal/workload/operations"
	"plimsoll/internal/workload/operations/management"
	"plimsoll/internal/workload/sparkml"
	"plimsoll/internal/workload/storage"
)

// All returns everything that a study may name.
func All() *study.Catalog {
	return &study.Catalog{
		Workloads: workloads(),
		Services: []service.Kind{
			responder.Kind(),
			nginx.Kind(),
			redis.Kind(),
			memcached.Kind(),
			postgresql.Kind(),
			cassandra.Kind(),
			ceph.Kind(),
			mariadb.Kind(),
			spark.Kind(),
			reflector.Kind(),
			classifier.Kind(),
			vcenter.Kind(),
			provided.Kind(),
		},
		Platforms: platforms(),
		Factors: append(append(vm.Factors(), power.Factors()...),
			factor.Scheduler(),
			factor.ReadAhead(),
			factor.Affinity(),
			factor.CPUSet(),
			factor.Quota(),
			factor.TransparentHugePages(),
			factor.Sysctl(),
			factor.GROFlushTimeout(),
			factor.NAPIDeferral(),
			factor.InterruptCoalescing(),
			factor.ReceivePacketSteering(),
			factor.Latency(),
			factor.HostTuner(),
			factor.Label(),
			sim.Knob(),
			clustersim.Policy(),
			clustersim.Level(),
		),
		Sources: []collect.Source{
			collect.CPU(),
			collect.Interrupts(),
			collect.Pressure(),
			collect.Disk(),
			collect.Memory(),
			collect.Cgroup(),
			collect.Paging(),
			collect.NUMA(),
			collect.Network(),
			collect.Processes(),
			collect.Filesystem(),
			collect.Clock(),
			collect.Frequency(),
			collect.Guest(),
			collect.Traffic(),
		},
		Monitors: []collect.Monitor{counter.Kind()},
	}
}

// workloads are those whose load a worker makes, which package subprocess lists, those whose worker
// needs clients that plimsoll alone contains, and those whose load another program makes or simulates.
func workloads() []workload.Kind {
	workers := subprocess.Workloads(subprocess.LabParts{GoCQL: driver.Open, Sources: lua.Release, Images: included.Images})
	return slices.Concat([]workload.Kind{storage.Kind()}, workers, []workload.Kind{operations.Kind(Managed()), compliance.Kind(policies.Open), balance.Kind(balancing.Open), sparkml.Kind(), cluster.Kind()})
}

// Managed are the clients of management platforms, by protocol.
func Managed() map[string]management.Opener {
	return map[string]management.Opener{
		"vsphere": operation.Open,
		"libvirt": atURL(domains.Open),
		"proxmox": atURL(guests.Open),
	}
}

// atURL opens a platform by the address of a live cluster.
func atURL(open func(context.Context, live.Address) (management.Platform, error)) management.Opener {
	return func(ctx context.Context, e load.Endpoint) (management.Platform, error) {
		at, err := live.ParseAddress(e.URL)
		if err != nil {
			return nil, err
		}
		return open(ctx, at)
	}
}

func platforms() []platform.Kind {
	return []platform.Kind{
		local.Kind(),
		guest.Kind(local.Kind(), ssh.Kind()),
		libvirt.Kind(),
		vsphereplatform.Kind(),
		ssh.Kind(),
		sim.Kind(),
		clustersim.Kind(),
		fleet.Kind(),
	}
}

// Clusters are the management interfaces of live clusters.
func Clusters() []live.Kind {
	return []live.Kind{vsphere.Kind(), hosts.Kind(), proxmox.Kind()}
}
