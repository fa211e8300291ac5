// Package catalog is the list of everything built in. To add a workload, a
// service, a platform, a factor or a source of counters is to add a line here.
package catalog

import (
	"plimsoll/internal/collect"
	"plimsoll/internal/factor"
	"plimsoll/internal/platform"
	"plimsoll/internal/platform/clustersim"
	"plimsoll/internal/platform/fleet"
	"plimsoll/internal/platform/guest"
	"plimsoll/internal/platform/libvirt"
	"plimsoll/internal/platform/local"
	"plimsoll/internal/platform/sim"
	"plimsoll/internal/platform/ssh"
	"plimsoll/internal/service"
	"plimsoll/internal/service/cassandra"
	"plimsoll/internal/service/mariadb"
	"plimsoll/internal/service/memcached"
	"plimsoll/internal/service/nginx"
	"plimsoll/internal/service/postgresql"
	"plimsoll/internal/service/redis"
	"plimsoll/internal/service/reflector"
	"plimsoll/internal/service/responder"
	"plimsoll/internal/study"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/brokerage"
	"plimsoll/internal/workload/cluster"
	"plimsoll/internal/workload/compile"
	"plimsoll/internal/workload/compile/lua"
	"plimsoll/internal/workload/cqliot"
	"plimsoll/internal/workload/cqliot/driver"
	"plimsoll/internal/workload/dvdstore"
	"plimsoll/internal/workload/keyvalue"
	"plimsoll/internal/workload/network"
	"plimsoll/internal/workload/null"
	"plimsoll/internal/workload/oltp"
	"plimsoll/internal/workload/orderentry"
	"plimsoll/internal/workload/processor"
	"plimsoll/internal/workload/storage"
	"plimsoll/internal/workload/web"
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
			mariadb.Kind(),
			reflector.Kind(),
		},
		Platforms: platforms(),
		Factors: append(factor.Either(guest.Factors(), libvirt.Factors()),
			factor.Scheduler(),
			factor.ReadAhead(),
			factor.Affinity(),
			factor.CPUSet(),
			factor.Quota(),
			factor.TransparentHugePages(),
			factor.Governor(),
			factor.Sysctl(),
			factor.GROFlushTimeout(),
			factor.NAPIDeferral(),
			factor.InterruptCoalescing(),
			factor.ReceivePacketSteering(),
			factor.Latency(),
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
			collect.Filesystem(),
			collect.Clock(),
			collect.Frequency(),
			collect.Guest(),
			collect.Traffic(),
		},
	}
}

func workloads() []workload.Kind {
	return []workload.Kind{
		storage.Kind(),
		web.Kind(),
		keyvalue.Kind(),
		orderentry.Kind(),
		brokerage.Kind(),
		oltp.Kind(),
		cqliot.Kind(driver.Open),
		dvdstore.Kind(),
		network.Kind(),
		compile.Kind(lua.Release),
		processor.Kind(),
		cluster.Kind(),
		null.Kind(),
	}
}

func platforms() []platform.Kind {
	return []platform.Kind{
		local.Kind(),
		guest.Kind(),
		libvirt.Kind(),
		ssh.Kind(),
		sim.Kind(),
		clustersim.Kind(),
		fleet.Kind(),
	}
}
