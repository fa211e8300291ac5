# Starts a monitor and OSDs, and stays until the monitor ends or it is asked to stop. Data is thrown away then, so that no daemon is
# asked to flush.   start.sh FOLDER [HOST PORT-V2 PORT-V1 [PLIMSOLL LINK CABLED]]
# The file osds has the numbers of the OSDs and their UUIDs. Without HOST, the monitor is on another machine and knows the OSDs.
# With PLIMSOLL, a router of that program makes a network namespace for each OSD. HOST is then an address of the network, and those after it are
# those of the OSDs. The first CABLED OSDs have links to HOST beside the router, which are named after LINK. The namespaces go with the router and the OSDs.
dir=$1 host=$2 v2=$3 v1=$4 plimsoll=$5 link=$6 cabled=${7:-0}
cd "$dir" || exit 1
export CEPH_CONF="$dir/ceph.conf"
unset CEPH_ARGS CEPH_KEYRING
rm -rf monmap mon.a.data osd.* net.sock # of an attempt with other ports
pids= mon= router= cables= osds=$(cut -d " " -f 1 osds)
end() {
	trap - INT TERM
	for file in osd.*.pid; do
		[ -e "$file" ] && [ ! -e "${file%.pid}.down" ] && read -r pid <"$file" && pids="$pids $pid"
	done
	if [ -n "$pids" ]; then
		kill -KILL $pids 2>/dev/null
		wait $pids 2>/dev/null # so that both ends close their connections while they have a network
	fi
	for cable in $cables; do # before their namespaces go, which takes time
		echo "link del $cable"
	done | ip -force -batch - 2>/dev/null
	[ -z "$router" ] || kill -KILL "$router" 2>/dev/null
	wait 2>/dev/null
	exit "$1"
}
trap 'end 0' INT TERM
failed() {
	cat "$1" >&2
	end 1
}
lost() { # NAME PID LOG
	wait "$2"
	status=$?
	cat "$3" >&2
	echo "plimsoll: $1 ended (status $status)" >&2
	end 1
}
taken() { # LOG
	grep -q 'File exists\|resource busy' "$1" && echo "Address already in use: $host" >&2
	failed "$1"
}
connect() { # OSD: lets clients reach it
	far=${host%.*}.$((${host##*.} + 1 + $1)) cable=${link}x$1 in="nsenter --net=osd.$1.netns"
	$in ip link add eth0 type veth peer name "$cable" netns $$ || return
	cables="$cables $cable"
	ip link set "$cable" alias "$dir" || return
	ip addr add "$host" peer "$far" dev "$cable" && ip link set "$cable" up && $in ip addr add "$far" peer "$host" dev eth0 && $in ip link set eth0 up
}
if [ -n "$plimsoll" ]; then
	ip -o -4 addr show | grep -F -e " $host " -e " $host/" >&2 && echo "Address already in use: $host" >&2 && end 1
	"$plimsoll" router <network.json >network.out 2>&1 &
	router=$!
	while [ ! -S net.sock ]; do
		kill -0 "$router" 2>/dev/null || taken network.out
		sleep 0.02
	done
	n=0
	while [ "$n" -lt "$cabled" ]; do
		connect "$n" >cable.out 2>&1 || taken cable.out
		n=$((n + 1))
	done
fi
if [ -n "$host" ]; then
	fsid=$(sed -n 's/^fsid = //p' ceph.conf)
	monmaptool --create --fsid "$fsid" --addv a "[v2:$host:$v2,v1:$host:$v1]" monmap >monmap.out 2>&1 || failed monmap.out
	ceph-mon --mkfs -i a --monmap monmap >mon.out 2>&1 || failed mon.out
	ceph-mon -f -i a >>mon.out 2>&1 &
	mon=$! pids=$!
fi
while read -r n uuid; do
	mkdir "osd.$n.data"
	ceph-osd -i "$n" --mkfs --osd-uuid "$uuid" >"osd.$n.out" 2>&1 &
	echo $! >"osd.$n.maker"
	pids="$pids $!"
done <osds
ask() { # INPUT COMMAND ...: runs a client of the monitor
	input=$1
	shift
	"$@" <"$input" >>commands.out 2>&1 &
	asking=$! pids="$pids $!"
	while kill -0 "$asking" 2>/dev/null; do
		kill -0 "$mon" 2>/dev/null || failed mon.out
		sleep 0.05
	done
	wait "$asking" || failed commands.out
}
: >commands.out
if [ -e crush.txt ]; then
	crushtool -c crush.txt -o crush.map >commands.out 2>&1 || failed commands.out
	ask /dev/null ceph --connect-timeout 20 -i crush.map osd setcrushmap
fi
if [ -n "$mon" ]; then # one process of the client runs all other commands: it takes longer to start than to run them
	ask commands ceph --connect-timeout 20
	grep -q '^Error\|^Invalid' commands.out && failed commands.out
fi
for n in $osds; do
	read -r maker <"osd.$n.maker"
	wait "$maker" || failed "osd.$n.out"
done
pids=$mon
start() { # OSD
	in=
	[ -z "$plimsoll" ] || in="nsenter --net=osd.$1.netns"
	$in ceph-osd -f -i "$1" >>"osd.$1.out" 2>&1 &
	echo $! >"osd.$1.pid.new"
	mv "osd.$1.pid.new" "osd.$1.pid"
}
for n in $osds; do
	start "$n"
done
# With a file osd.N.down the OSD may end; with osd.N.again it starts again, once its former process has let go of the device.
while [ -z "$mon" ] || kill -0 "$mon" 2>/dev/null; do
	[ -z "$router" ] || kill -0 "$router" 2>/dev/null || lost "the router between the OSDs" "$router" network.out
	for n in $osds; do
		read -r pid <"osd.$n.pid"
		if ! kill -0 "$pid" 2>/dev/null; then
			if [ -e "osd.$n.again" ]; then
				rm -f "osd.$n.again" "osd.$n.down"
				start "$n"
			elif [ ! -e "osd.$n.down" ]; then
				lost "osd.$n" "$pid" "osd.$n.out"
			fi
		fi
	done
	sleep 0.2 &
	wait $!
done
lost "the monitor" "$mon" mon.out
