package house

import (
	"slices"
	"strings"
	"testing"
)

// allowed says which packages of ours a package may import. A row that ends in
// "/" holds for each implementation below it.
var allowed = map[string]string{
	"internal/charset":                  "",
	"internal/parameter":                "",
	"internal/stat":                     "",
	"internal/stat/curve":               "stat",
	"internal/stat/change":              "stat",
	"internal/claim":                    "",
	"internal/claim/number":             "pattern",
	"internal/claim/document":           "claim/number pattern",
	"internal/claim/grammar":            "claim/document claim/number pattern",
	"internal/claim/judge":              "claim claim/grammar claim/number quantity",
	"internal/claim/link":               "claim claim/grammar claim/judge claim/number",
	"internal/claim/check":              "claim claim/document claim/grammar claim/judge claim/link claim/number document pattern",
	"internal/document":                 "parameter",
	"internal/measure":                  "",
	"internal/measure/exchange":         "escape measure",
	"internal/measure/imported":         "measure measure/foreign measure/foreign/formats measure/hcibench",
	"internal/measure/foreign":          "measure pattern",
	"internal/measure/foreign/":         "measure measure/foreign pattern",
	"internal/measure/foreign/formats":  "measure/foreign measure/foreign/counter measure/foreign/database measure/foreign/keyvalue measure/foreign/network measure/foreign/storage measure/foreign/table measure/foreign/web",
	"internal/measure/hcibench":         "measure",
	"internal/load":                     "charset",
	"internal/load/":                    "load load/pace load/tally measure",
	"internal/load/socket":              "load load/routine load/tally measure",
	"internal/load/pace":                "",
	"internal/load/tally":               "load measure",
	"internal/load/peer":                "load",
	"internal/platform":                 "charset load measure parameter",
	"internal/platforms":                "",
	"internal/platforms/":               "factor load measure parameter platform",
	"internal/platforms/virtual":        "platform",
	"internal/platforms/sim":            "factor load measure parameter platform platforms/virtual",
	"internal/platforms/local":          "hostlock parameter platform",
	"internal/platforms/ssh":            "agent/program agent/remote agent/scratch parameter platform",
	"internal/platforms/clustersim":     "cluster/replay cluster/replay/strategy cluster/scenario cluster/snapshot factor measure parameter platform platforms/virtual",
	"internal/platforms/group":          "parameter platform",
	"internal/platforms/guest":          "agent/remote charset guest/capacity guest/diskserver guest/folder guest/provision guest/hardware guest/inspect guest/layout guest/qemu guest/relay guest/spec guest/supply guest/view guest/vswitch guest/memcheck guest/rbd load parameter platform platforms/group",
	"internal/platforms/libvirt":        "agent/remote guest/folder guest/provision guest/hardware guest/layout guest/qemu guest/spec guest/supply guest/view libvirt parameter platform",
	"internal/platforms/vsphere":        "agent/fabric agent/optical agent/remote agent/tether connection guest/disk guest/folder guest/provision guest/hardware guest/layout guest/spec guest/supply guest/view live parameter platform platforms/group vsphere/appliance",
	"internal/parameter/parametertest":  "parameter",
	"internal/platforms/platformtest":   "factor load measure parameter platform",
	"internal/workload":                 "load measure parameter platform",
	"internal/service":                  "charset load measure parameter platform service/ports",
	"internal/service/":                 "cql load load/peer measure mysql parameter pattern platform postgres service wire",
	"internal/service/ceph":             "load measure parameter platform router service service/ceph/admin service/ceph/counter service/ceph/crush service/ceph/health",
	"internal/service/keyvalue":         "load measure platform service",
	"internal/service/memcached":        "load measure parameter platform service service/keyvalue",
	"internal/service/redis":            "load measure parameter pattern platform service service/keyvalue",
	"internal/service/nginx":            "load measure parameter platform service service/webfiles",
	"internal/service/responder":        "load measure parameter platform service service/webfiles",
	"internal/service/vcenter":          "cluster cluster/generate live load measure parameter platform service vsphere/sim vsphere/sim/clock vsphere/sim/load vsphere/sim/task",
	"internal/service/live":             "live live/libvirt load parameter service",
	"internal/service/ceph/admin":       "load platform service",
	"internal/service/ceph/counter":     "measure platform service",
	"internal/service/ceph/crush":       "",
	"internal/service/ceph/health":      "",
	"internal/service/webfiles":         "",
	"internal/service/ports":            "platform",
	"internal/service/servicetest":      "cql load measure mysql parameter parameter/parametertest platform postgres service service/webfiles wire",
	"internal/workload/":                "cql load load/peer load/routine load/socket measure parameter platform wire workload workload/engine workload/engine/dataset workload/engine/dialogue workload/engine/transact",
	"internal/workload/storage":         "load measure nbd parameter platform stat workload workload/storage/fio workload/storage/iometer workload/storage/pace",
	"internal/workload/storage/iometer": "parameter",
	"internal/workload/storage/fio":     "measure",
	"internal/workload/storage/pace":    "measure",
	"internal/workload/workloadtest":    "load load/loadtest measure parameter parameter/parametertest platform workload",
	"internal/workload/cqliot":          "cql load load/routine load/socket measure parameter platform wire workload workload/cqliot/foreign",
	"internal/workload/cqliot/":         "workload/cqliot/foreign",
	"internal/workload/compile/lua":     "",
	"internal/workload/balance":         "load measure parameter workload workload/balance/subject",
	"internal/workload/balance/":        "load",
	"internal/workload/compliance":      "load load/routine measure parameter workload workload/compliance/subject",
	"internal/workload/compliance/":     "load",
	"internal/workload/operations":      "load load/routine measure parameter workload workload/operations/management workload/operations/owner",
	"internal/workload/operations/":     "load workload/operations/management",
	"internal/factor":                   "guest/netem parameter pattern platform",
	"internal/factor/vm":                "factor guest/provision guest/hardware guest/inspect guest/layout guest/qemu guest/spec guest/view parameter platform",
	"internal/collect":                  "hoststat hoststat/cgroup load measure parameter platform stat",
	"internal/hoststat":                 "hoststat/cgroup hoststat/memory hoststat/network hoststat/numa hoststat/parse hoststat/pmu hoststat/power hoststat/psi platform",
	"internal/hoststat/parse":           "",
	"internal/hoststat/psi":             "hoststat/parse",
	"internal/hoststat/numa":            "hoststat/parse",
	"internal/hoststat/cgroup":          "hoststat/parse hoststat/psi platform",
	"internal/hoststat/network":         "hoststat/parse",
	"internal/hoststat/memory":          "",
	"internal/hoststat/pmu":             "",
	"internal/hoststat/power":           "",
	"internal/hoststat/interval":        "hoststat hoststat/cgroup hoststat/network hoststat/pmu hoststat/power hoststat/psi",
	"internal/hoststat/trace":           "hoststat hoststat/cgroup hoststat/interval hoststat/network",
	"internal/hoststat/hoststattest":    "hoststat",
	"internal/hoststat/watch":           "hoststat hoststat/interval platform",
	"internal/diagnosis":                "hoststat hoststat/cgroup hoststat/network hoststat/psi hoststat/trace quantity sentence",
	"internal/diagnosis/rule":           "diagnosis diagnosis/rule/cpu diagnosis/rule/frequency diagnosis/rule/memory diagnosis/rule/network diagnosis/rule/storage diagnosis/rule/thread",
	"internal/diagnosis/rule/cpu":       "diagnosis hoststat hoststat/cgroup pattern platform",
	"internal/diagnosis/rule/thread":    "diagnosis hoststat",
	"internal/diagnosis/rule/frequency": "diagnosis hoststat/power",
	"internal/diagnosis/rule/memory":    "diagnosis hoststat hoststat/cgroup",
	"internal/diagnosis/rule/storage":   "diagnosis hoststat hoststat/cgroup",
	"internal/diagnosis/rule/network":   "diagnosis hoststat hoststat/network",
	"internal/diagnosis/checkup":        "column diagnosis diagnosis/rule escape hoststat/watch quantity",
	"internal/diagnosis/diagnosistest":  "diagnosis hoststat hoststat/cgroup hoststat/network hoststat/power hoststat/psi",
	"internal/study":                    "collect document factor load measure parameter platform service study/override study/timing workload",
	"internal/study/credential":         "pattern study",
	"internal/study/timing":             "parameter",
	"internal/study/override":           "document",
	"internal/study/describe":           "measure parameter study study/timing workload",
	"internal/plan":                     "measure plan/peak stat study",
	"internal/plan/peak":                "plan/coroutine stat stat/curve",
	"internal/plan/growth":              "plan/coroutine plan/peak stat",
	"internal/plan/coroutine":           "",
	"internal/plan/plantest":            "",
	"internal/agent":                    "load measure parameter platform workload",
	"internal/agent/remote":             "platform",
	"internal/agent/program":            "",
	"internal/agent/scratch":            "",
	"internal/agent/boot":               "agent/optical agent/remote agent/tether charset platform",
	"internal/agent/optical":            "",
	"internal/agent/tether":             "charset",
	"cmd/plimsoll-agent":                "*",
	"internal/guest/vswitch":            "",
	"internal/nbd":                      "",
	"internal/router":                   "",
	"internal/guest/netem":              "",
	"internal/agent/fabric":             "pattern platform",
	"internal/agent/fabric/hub":         "agent/fabric",
	"internal/agent/guard":              "charset platform",
	"internal/agent/toolbox":            "",
	"internal/agent/testnet":            "",
	"internal/agent/join":               "agent/fabric agent/guard agent/remote platform",
	"internal/platforms/fleet":          "agent/fabric agent/fabric/hub agent/remote column parameter platform",
	"internal/trial":                    "collect hoststat/trace load measure parameter plan platform service study trial/certify trial/drive trial/fault trial/journal trial/machines trial/monitor trial/parts trial/restore trial/search trial/serve trial/setting trial/window workload",
	"internal/trial/monitor":            "collect load measure study",
	"internal/trial/parts":              "hoststat/trace measure study trial/drive trial/machines workload",
	"internal/trial/search":             "agent collect hoststat hoststat/interval load measure parameter plan plan/growth plan/peak service stat study trial/certify trial/drive trial/fault trial/machines workload",
	"internal/trial/drive":              "agent hoststat/trace load measure parameter platform trial/fault trial/journal trial/machines workload",
	"internal/trial/window":             "measure stat study",
	"internal/trial/certify":            "load measure trial/window",
	"internal/trial/setting":            "factor platform study trial/fault trial/journal trial/machines",
	"internal/trial/serve":              "hoststat/trace load measure parameter plan platform service study trial/fault trial/journal trial/machines workload",
	"internal/trial/restore":            "factor load platform study trial/journal trial/machines trial/serve trial/setting workload",
	"internal/trial/machines":           "collect hoststat hoststat/trace measure parameter platform study trial/fault trial/journal workload",
	"internal/trial/fault":              "",
	"internal/trial/journal":            "parameter study trial/fault",
	"internal/quantity":                 "",
	"internal/pattern":                  "",
	"internal/sentence":                 "",
	"internal/finding":                  "measure plan quantity sentence stat",
	"internal/finding/schema":           "",
	"internal/finding/table":            "finding hoststat/trace load measure plan study",
	"internal/finding/compare":          "finding finding/table measure plan stat",
	"internal/finding/account":          "finding finding/table stat",
	"internal/finding/rank":             "finding finding/compare finding/table stat",
	"internal/finding/capacity":         "finding finding/compare finding/table measure plan plan/peak quantity stat stat/curve",
	"internal/finding/wording":          "finding measure quantity sentence",
	"internal/finding/diagnose":         "diagnosis finding finding/rule finding/table hoststat hoststat/trace measure",
	"internal/finding/rule":             "finding finding/table measure quantity sentence",
	"internal/finding/certificate":      "finding finding/compare finding/table measure quantity stat",
	"internal/finding/audit":            "claim claim/check finding finding/capacity finding/compare quantity sentence stat study",
	"internal/finding/judge":            "diagnosis/rule finding finding/account finding/audit finding/capacity finding/certificate finding/compare finding/diagnose finding/rank finding/rule finding/table finding/wording measure study",
	"internal/intervene":                "factor finding finding/compare stat study",
	"internal/tune":                     "finding finding/compare finding/judge finding/rule finding/wording measure parameter plan quantity stat study",
	"internal/escape":                   "",
	"internal/column":                   "",
	"internal/console":                  "charset escape",
	"internal/report":                   "finding hoststat/trace measure plan quantity sentence study",
	"internal/report/chart":             "escape finding quantity report",
	"internal/report/content":           "finding measure quantity report report/chart sentence study webpage",
	"internal/report/forest":            "finding measure quantity report report/chart report/content study",
	"internal/report/figure":            "finding measure quantity report report/chart report/content report/forest report/meanwhile sentence stat study",
	"internal/report/meanwhile":         "hoststat/trace measure quantity report report/chart",
	"internal/report/page":              "finding pattern plan quantity report report/chart report/content report/figure sentence webpage",
	"internal/report/terminal":          "column escape finding quantity report report/chart report/content",
	"internal/report/markdown":          "escape finding report report/content",
	"internal/report/junit":             "finding measure report report/content",
	"internal/report/github":            "document escape",
	"internal/webpage":                  "",
	"internal/trend":                    "collect escape finding lab measure parameter plan quantity stat stat/change study trial/journal",
	"internal/trend/trendtest":          "collect measure plan study trial/journal",
	"internal/trend/page":               "finding report report/chart trend webpage",
	"internal/browsertest":              "",
	"internal/effort":                   "",
	"internal/difftest":                 "",
	"internal/cql/cqltest":              "",
	"internal/cql":                      "escape load wire",
	"internal/wire":                     "charset load",
	"internal/postgres":                 "escape load wire",
	"internal/mysql":                    "escape wire",
	"internal/workload/engine":          "load mysql parameter postgres wire workload",
	"internal/workload/engine/dialogue": "load wire workload/engine",
	"internal/workload/engine/dataset":  "load measure parameter workload workload/engine",
	"internal/workload/engine/transact": "load load/socket measure wire workload workload/engine workload/engine/dataset",
	"internal/enginetest":               "load platforms/local postgres service service/ports workload/engine",
	"internal/cluster":                  "",
	"internal/cluster/":                 "cluster",
	"internal/cluster/generate":         "cluster cluster/policy",
	"internal/cluster/importer":         "cluster cluster/table cluster/trace",
	"internal/cluster/trace":            "cluster cluster/scenario cluster/table",
	"internal/cluster/balance":          "cluster cluster/balance/advice cluster/balance/draft cluster/balance/goal cluster/balance/refusal cluster/balance/relief cluster/balance/repair cluster/balance/search cluster/balance/swap cluster/balance/unit cluster/balance/worth cluster/contention cluster/place",
	"internal/cluster/balance/advice":   "cluster cluster/contention cluster/place",
	"internal/cluster/balance/unit":     "cluster",
	"internal/cluster/balance/draft":    "cluster cluster/balance/advice cluster/balance/unit cluster/contention cluster/migrate cluster/place",
	"internal/cluster/balance/worth":    "cluster cluster/balance/advice cluster/balance/draft cluster/balance/unit cluster/contention cluster/migrate cluster/place",
	"internal/cluster/balance/relief":   "cluster cluster/balance/advice cluster/balance/draft cluster/contention cluster/place",
	"internal/cluster/balance/goal":     "cluster cluster/balance/advice cluster/balance/draft cluster/balance/relief cluster/balance/unit cluster/balance/worth cluster/contention",
	"internal/cluster/balance/chain":    "cluster cluster/balance/draft cluster/balance/unit",
	"internal/cluster/balance/repair":   "cluster cluster/balance/advice cluster/balance/chain cluster/balance/draft cluster/balance/unit cluster/balance/worth cluster/contention cluster/place",
	"internal/cluster/balance/search":   "cluster cluster/balance/advice cluster/balance/draft cluster/balance/relief cluster/balance/worth cluster/contention cluster/place",
	"internal/cluster/balance/swap":     "cluster cluster/balance/advice cluster/balance/chain cluster/balance/draft cluster/balance/relief cluster/balance/unit cluster/balance/worth cluster/contention cluster/place",
	"internal/cluster/balance/refusal":  "cluster cluster/balance/advice cluster/balance/draft cluster/balance/relief cluster/balance/unit cluster/balance/worth cluster/place",
	"internal/cluster/contention":       "cluster",
	"internal/cluster/balance/stage":    "cluster cluster/balance/advice cluster/migrate",
	"internal/cluster/migrate":          "cluster cluster/place",
	"internal/cluster/divvy":            "cluster cluster/divvy/hosttree",
	"internal/cluster/divvy/hosttree":   "cluster",
	"internal/cluster/replay":           "cluster cluster/divvy cluster/scenario",
	"internal/cluster/replay/strategy":  "cluster cluster/balance cluster/balance/advice cluster/place cluster/replay cluster/scenario",
	"internal/cluster/replay/compare":   "cluster/replay cluster/replay/strategy cluster/scenario column",
	"internal/cluster/scenario":         "cluster",
	"internal/cluster/policy":           "cluster parameter",
	"internal/cluster/sca":              "cluster cluster/snapshot/unit column",
	"internal/cluster/snapshot":         "cluster cluster/scenario cluster/snapshot/entry cluster/snapshot/unit document",
	"internal/cluster/snapshot/entry":   "cluster/snapshot/unit document",
	"internal/cluster/snapshot/unit":    "",
	"internal/cluster/doctor":           "cluster cluster/balance cluster/balance/advice cluster/balance/stage cluster/divvy cluster/doctor/pools cluster/doctor/warning cluster/doctor/words cluster/migrate cluster/place column",
	"internal/cluster/doctor/words":     "cluster",
	"internal/cluster/doctor/warning":   "cluster cluster/divvy cluster/doctor/words cluster/topology",
	"internal/cluster/doctor/pools":     "cluster cluster/divvy cluster/divvy/hosttree cluster/doctor/words column",
	"internal/cluster/doctor/whatif":    "cluster cluster/balance cluster/balance/advice cluster/divvy cluster/doctor cluster/doctor/pools cluster/doctor/words",
	"internal/cluster/picture":          "cluster cluster/doctor cluster/doctor/pools cluster/doctor/warning webpage",
	"internal/guest":                    "",
	"internal/guest/":                   "",
	"internal/guest/spec":               "guest/hardware guest/inspect guest/layout guest/view nbd parameter platform",
	"internal/guest/supply":             "agent/program guest/provision guest/hardware guest/initramfs guest/kernel guest/qemu guest/spec",
	"internal/guest/diskserver":         "guest/spec nbd",
	"internal/guest/rbd":                "platform",
	"internal/guest/memcheck":           "platform",
	"internal/guest/provision":          "guest/bundle guest/hardware platform",
	"internal/guest/layout":             "guest/hardware guest/view",
	"internal/guest/guesttest":          "guest/kernel",
	"internal/guest/kernel":             "guest/unpack",
	"internal/guest/hardware":           "cluster/topology guest/view",
	"internal/guest/qmp":                "",
	"internal/guest/inspect":            "guest/qmp guest/view platform",
	"internal/guest/view":               "platform",
	"internal/guest/capacity":           "platform",
	"internal/guest/qemu":               "guest/hardware guest/inspect guest/kernel guest/qmp",
	"internal/guest/initramfs":          "guest/kernel guest/unpack",
	"internal/libvirt":                  "",
	"internal/live":                     "cluster cluster/policy cluster/topology",
	"internal/live/libvirt":             "cluster cluster/snapshot cluster/snapshot/entry cluster/snapshot/unit cluster/topology document libvirt live live/libvirt/definition",
	"internal/live/libvirt/definition":  "cluster/topology",
	"internal/live/libvirt/operation":   "libvirt live live/libvirt workload/operations/management",
	"internal/live/proxmox/operation":   "live live/proxmox proxmox workload/operations/management",
	"internal/live/apply":               "cluster cluster/migrate cluster/place cluster/topology live",
	"internal/live/reshape":             "cluster/topology live live/apply",
	"internal/live/proxmox":             "cluster cluster/snapshot cluster/topology live proxmox",
	"internal/connection":               "",
	"internal/proxmox":                  "connection",
	"internal/proxmox/proxmoxtest":      "",
	"internal/live/livetest":            "cluster cluster/snapshot cluster/topology live",
	"internal/live/watch":               "cluster cluster/doctor cluster/doctor/warning cluster/doctor/words live",
	"internal/vsphere":                  "cluster/policy live vsphere/hand vsphere/inventory vsphere/session vsphere/storage",
	"internal/vsphere/capability":       "cluster/policy",
	"internal/vsphere/balancing":        "cluster cluster/balance/advice cluster/doctor live live/apply load vsphere vsphere/counter vsphere/session workload/balance/subject",
	"internal/vsphere/compliance":       "load vsphere/hand vsphere/inventory vsphere/session vsphere/task workload/compliance/subject",
	"internal/vsphere/storage":          "cluster/policy live vsphere/capability vsphere/config vsphere/inventory vsphere/session",
	"internal/vsphere/envelope":         "",
	"internal/vsphere/session":          "connection live load vsphere/config vsphere/envelope",
	"internal/vsphere/counter":          "collect live load measure parameter vsphere/config vsphere/inventory vsphere/session",
	"internal/vsphere/config":           "cluster",
	"internal/vsphere/inventory":        "cluster live load vsphere/config vsphere/session",
	"internal/vsphere/task":             "vsphere/session",
	"internal/vsphere/hand":             "cluster/topology live vsphere/inventory vsphere/session vsphere/task",
	"internal/vsphere/operation":        "load vsphere/config vsphere/inventory vsphere/session vsphere/task workload/operations/management",
	"internal/vsphere/appliance":        "guest/disk live vsphere/hand vsphere/inventory vsphere/session vsphere/task",
	"internal/vsphere/vspheretest":      "live vsphere/disturbance vsphere/sim/original",
	"internal/vsphere/disturbance":      "",
	"internal/vsphere/sim":              "cluster cluster/policy vsphere/config vsphere/sim/clock vsphere/sim/collector vsphere/sim/counter vsphere/sim/drs vsphere/sim/event vsphere/sim/fault vsphere/sim/folder vsphere/sim/front vsphere/sim/inventory vsphere/sim/load vsphere/sim/model vsphere/sim/operation vsphere/sim/original vsphere/sim/release vsphere/sim/replica vsphere/sim/shadow vsphere/sim/state vsphere/sim/storage vsphere/sim/task vsphere/sim/vijson",
	"internal/vsphere/sim/inventory":    "cluster vsphere/sim/original vsphere/sim/release vsphere/sim/replica",
	"internal/vsphere/sim/fault":        "vsphere/disturbance vsphere/sim/clock vsphere/sim/task",
	"internal/vsphere/sim/front":        "vsphere/disturbance vsphere/envelope vsphere/sim/release",
	"internal/vsphere/sim/state":        "vsphere/sim/collector vsphere/sim/release vsphere/sim/replica",
	"internal/vsphere/sim/vijson":       "",
	"internal/vsphere/sim/numa":         "cluster/topology vsphere/config",
	"internal/vsphere/sim/release":      "",
	"internal/vsphere/sim/collector":    "vsphere/sim/replica vsphere/sim/shadow vsphere/sim/task",
	"internal/vsphere/sim/operation":    "vsphere/config vsphere/sim/original vsphere/sim/event vsphere/sim/folder vsphere/sim/numa vsphere/sim/release vsphere/sim/replica vsphere/sim/shadow vsphere/sim/task",
	"internal/vsphere/sim/model":        "cluster cluster/divvy cluster/place vsphere/config",
	"internal/vsphere/sim/drs":          "cluster cluster/balance cluster/balance/advice cluster/place vsphere/config vsphere/sim/event vsphere/sim/model vsphere/sim/shadow vsphere/sim/task",
	"internal/vsphere/sim/storage":      "cluster cluster/policy vsphere/capability vsphere/sim/operation vsphere/sim/shadow",
	"internal/vsphere/sim/original":     "vsphere/sim/replica",
	"internal/vsphere/sim/replica":      "",
	"internal/vsphere/sim/shadow":       "",
	"internal/vsphere/sim/task":         "vsphere/sim/clock",
	"internal/vsphere/sim/clock":        "",
	"internal/vsphere/sim/event":        "vsphere/sim/clock",
	"internal/vsphere/sim/folder":       "",
	"internal/vsphere/sim/load":         "cluster cluster/contention cluster/generate cluster/scenario vsphere/config vsphere/sim/clock vsphere/sim/model vsphere/sim/replica vsphere/sim/shadow",
	"internal/vsphere/sim/counter":      "vsphere/sim/clock vsphere/sim/load vsphere/sim/shadow",
	"internal/libvirt/libvirttest":      "",
	"internal/hci":                      "parameter",
	"internal/hci/survey":               "hci parameter platform service service/ceph",
	"internal/lab/easyrun":              "finding hci hci/survey lab lab/telling measure parameter platforms/local quantity report report/chart trial webpage",
	"internal/lab/hciexport":            "lab lab/easyrun measure measure/hcibench parameter study workload",
	"internal/lab/hcistudy":             "document parameter",
	"internal/lab/intake":               "collect lab lab/hcistudy measure measure/imported parameter plan study trial/journal workload/storage/iometer",
	"internal/lab/telling":              "events platform trial trial/certify",
	"internal/lab/tunable":              "parameter study",
	"internal/events":                   "measure trial trial/certify",
	"internal/events/livepage":          "events measure quantity report report/chart trial/certify trial/journal webpage",
	"internal/lab":                      "collect document events factor finding finding/compare finding/judge finding/rule finding/table hoststat/trace intervene lab/telling lab/tunable load measure measure/exchange measure/imported parameter plan platform report report/content report/page study trial trial/fault trial/journal trial/machines trial/restore tune workload",
	"internal/catalog":                  "*",
	"internal/catalog/manual":           "diagnosis/rule measure parameter study",
	"internal/catalog/subprocess":       "*",
	"internal/house":                    "",
	"internal/hosttest":                 "",
	"internal/hostlock":                 "",
	"scenarios":                         "",
	"studies":                           "",
	"bench":                             "*",
	"bench/clusters":                    "cluster cluster/balance cluster/balance/advice cluster/clustertest cluster/contention cluster/divvy cluster/generate cluster/place cluster/policy cluster/snapshot",
	"bench/measured":                    "",
	"bench/networks":                    "router",
	"bench/observe":                     "hoststat hoststat/interval",
	"bench/vsphere":                     "cluster cluster/generate live vsphere vsphere/sim",
	"bench/vcenter":                     "cluster cluster/generate live load vsphere/operation vsphere/session vsphere/sim vsphere/task workload/operations/management",
	"bench/peaks":                       "catalog lab measure",
	"bench/causes":                      "hosttest",
	"bench/causes/program":              "",
	"bench/causes/scene":                "",
	"bench/hci":                         "catalog finding lab load measure parameter platforms/local service service/ceph trial",
	"bench/kills":                       "agent/fabric hosttest",
	"bench/tune":                        "catalog finding finding/compare lab measure study trial",
	"bench/truth":                       "finding finding/judge finding/table measure plan stat study study/timing",
	"cmd/plimsoll":                      "*",
	"cmd/plimsoll/cli":                  "column console document lab parameter report report/content report/github report/junit report/markdown report/terminal study",
	"cmd/plimsoll/clustercmd":           "cluster cluster/balance cluster/balance/advice cluster/divvy/hosttree cluster/doctor cluster/doctor/pools cluster/doctor/whatif cluster/generate cluster/importer cluster/picture cluster/policy cluster/replay/compare cluster/replay/strategy cluster/sca cluster/scenario cluster/snapshot cluster/topology cluster/trace cmd/plimsoll/cli column console hostlock live live/apply live/reshape live/watch parameter trial/journal",
	"cmd/plimsoll/machinecmd":           "agent agent/fabric agent/join cmd/plimsoll/cli diagnosis/checkup hoststat/watch platform guest/disk guest/initramfs guest/kernel parameter platforms/fleet platforms/local service/cassandra service/reflector service/responder",
	"cmd/plimsoll/resultscmd":           "claim claim/check cmd/plimsoll/cli column finding lab lab/hciexport lab/intake measure/exchange measure/foreign/table measure/imported report report/content report/markdown report/terminal trend trend/page",
	"cmd/plimsoll/vcentercmd":           "cluster cluster/generate cluster/policy cluster/snapshot cmd/plimsoll/cli live quantity vsphere/sim vsphere/sim/clock vsphere/sim/fault vsphere/sim/load vsphere/sim/state vsphere/sim/task",
	"cmd/plimsoll/studycmd":             "catalog catalog/manual cmd/plimsoll/cli cmd/plimsoll/studycmd/gate cmd/plimsoll/studycmd/progress column document hci lab lab/easyrun live load platform study study/credential study/describe study/timing workload/operations/management workload/operations/owner",
	"cmd/plimsoll/studycmd/gate":        "cmd/plimsoll/cli finding measure",
	"cmd/plimsoll/studycmd/progress":    "cmd/plimsoll/cli escape events platform report trial",
}

// owner names the packages that may import a third party.
var owner = map[string]string{
	"github.com/apache/cassandra-gocql-driver/v2": "internal/workload/cqliot/driver",

	"github.com/google/uuid":    "internal/vsphere/sim internal/vsphere/sim/collector internal/vsphere/sim/operation internal/vsphere/sim/storage",
	"github.com/vmware/govmomi": "bench/vcenter bench/vsphere internal/vsphere/appliance internal/vsphere/config internal/vsphere/counter internal/vsphere/envelope internal/vsphere/hand internal/vsphere/inventory internal/vsphere/operation internal/vsphere/session internal/vsphere/sim internal/vsphere/sim/model internal/vsphere/sim/collector internal/vsphere/sim/counter internal/vsphere/sim/original internal/vsphere/sim/drs internal/vsphere/sim/event internal/vsphere/sim/fault internal/vsphere/sim/folder internal/vsphere/sim/front internal/vsphere/sim/numa internal/vsphere/sim/vijson internal/vsphere/sim/release internal/vsphere/sim/state internal/vsphere/sim/inventory internal/vsphere/sim/load internal/vsphere/sim/operation internal/vsphere/sim/shadow internal/vsphere/sim/task internal/vsphere/task internal/vsphere/vspheretest internal/vsphere/sim/storage internal/vsphere/capability internal/vsphere/compliance internal/vsphere/storage",

	"github.com/HdrHistogram/hdrhistogram-go": "internal/measure",
	"go.yaml.in/yaml/v3":                      "internal/document",
	"gonum.org/v1/gonum":                      "internal/stat",
	"github.com/klauspost/compress":           "internal/guest/unpack",
	"github.com/pierrec/lz4/v4":               "internal/guest/unpack",
	"github.com/mikelolasagasti/xz":           "internal/guest/unpack",
	"github.com/spf13/cobra":                  "cmd/plimsoll cmd/plimsoll/cli cmd/plimsoll/clustercmd cmd/plimsoll/machinecmd cmd/plimsoll/resultscmd cmd/plimsoll/studycmd cmd/plimsoll/studycmd/gate cmd/plimsoll/vcentercmd",
	"github.com/spf13/pflag":                  "cmd/plimsoll",
	"golang.org/x/term":                       "cmd/plimsoll/cli",
	"golang.org/x/text":                       "internal/column",
	"github.com/nats-io/nats.go":              "internal/agent/fabric",
	"github.com/nats-io/nkeys":                "internal/agent/fabric",
	"github.com/nats-io/nats-server/v2":       "internal/agent/fabric/hub",
	"golang.org/x/sys":                        "bench/causes/program bench/causes/scene bench/networks internal/console internal/platforms/local internal/guest/qemu internal/guest/inspect internal/agent/toolbox internal/agent/boot internal/nbd internal/router internal/guest/netem internal/hostlock internal/libvirt/libvirttest internal/live/libvirt internal/hoststat internal/hoststat/network internal/hoststat/pmu",
}

func rule(folder string) (string, bool) {
	if r, ok := allowed[folder]; ok {
		return r, true
	}
	if i := strings.LastIndex(folder, "/"); i >= 0 {
		r, ok := allowed[folder[:i+1]]
		return r, ok
	}
	return "", false
}

func TestImportsRunOneWay(t *testing.T) {
	for _, f := range tree(t) {
		r, known := rule(f.folder())
		if !known {
			t.Errorf("%s: no rule says what %s may import: add a row to the table", f.path, f.folder())
			continue
		}
		if f.test || r == "*" {
			continue
		}
		for _, i := range f.imports {
			ours, found := strings.CutPrefix(i, "plimsoll/internal/")
			if command, is := strings.CutPrefix(i, "plimsoll/cmd/"); is {
				ours, found = "cmd/"+command, true
			}
			if found && !slices.Contains(strings.Fields(r), ours) {
				t.Errorf("%s imports %s, which %s may not", f.path, i, f.folder())
			}
		}
	}
}

func TestThirdPartiesHaveOneOwner(t *testing.T) {
	for _, f := range tree(t) {
		if f.test {
			continue
		}
		for _, i := range f.imports {
			if !strings.Contains(strings.SplitN(i, "/", 2)[0], ".") {
				continue
			}
			found := false
			for module, folder := range owner {
				if i == module || strings.HasPrefix(i, module+"/") {
					found = true
					if !slices.Contains(strings.Fields(folder), f.folder()) {
						t.Errorf("%s imports %s, which is for %s alone", f.path, i, folder)
					}
				}
			}
			if !found {
				t.Errorf("%s imports %s, which no package owns: add a row, or do without it", f.path, i)
			}
		}
	}
}

// A rule that nothing can break is no rule.
func TestTheTableRefuses(t *testing.T) {
	if r, _ := rule("internal/report"); slices.Contains(strings.Fields(r), "trial") {
		t.Error("the report may touch a machine")
	}
	if r, _ := rule("internal/workload/storage"); slices.Contains(strings.Fields(r), "workload/null") {
		t.Error("an implementation may import another")
	}
	if _, known := rule("internal/nowhere/at/all"); known {
		t.Error("an unknown folder has a rule")
	}
}
