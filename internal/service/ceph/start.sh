# Starts a monitor and OSDs, and stays until the monitor ends or it is asked to stop. Data is thrown away then, so that no daemon is
# asked to flush.   start.sh FOLDER OSDS HOST PORT-V2 PORT-V1 [NEAR SHAPING]
# With NEAR, the daemons have a network namespace of their own, HOST is an address in it, and NEAR the end of the link to it on this side.
# SHAPING is the queueing discipline of the loopback in it, on which OSDs talk to each other. Links go with the namespace, and that with its processes.
dir=$1 osds=$2 host=$3 v2=$4 v1=$5 near=$6 shaping=$7
cd "$dir" || exit 1
export CEPH_CONF="$dir/ceph.conf"
unset CEPH_ARGS CEPH_KEYRING
rm -rf monmap mon.a.data osd.* # of an attempt with other ports
pids= anchor=
end() {
	trap - INT TERM
	for file in osd.*.pid; do
		[ -e "$file" ] && [ ! -e "${file%.pid}.down" ] && read -r pid <"$file" && pids="$pids $pid"
	done
	kill -KILL $pids 2>/dev/null
	if [ -n "$anchor" ]; then # connections that still have something to send would keep the namespace
		$in tc qdisc del dev lo root 2>/dev/null
		ip link del "$link" 2>/dev/null
		kill -KILL "$anchor"
	fi
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
in= link=plimsoll$$
if [ -n "$near" ]; then
	unshare --net sleep 2147483647 &
	anchor=$!
	while [ "$(readlink "/proc/$anchor/ns/net")" = "$(readlink /proc/$$/ns/net)" ]; do
		kill -0 "$anchor" || end 1
		sleep 0.02
	done
	in="nsenter --net=/proc/$anchor/ns/net"
	{
		! ip -o addr show | grep -F " $near/" && # the line of another link that has the address
			ip link add "$link" type veth peer name eth0 netns "$anchor" && ip addr add "$near/30" dev "$link" && ip link set "$link" up &&
			$in ip link set lo up && $in ip addr add "$host/30" dev eth0 && $in ip link set eth0 up &&
			{ [ -z "$shaping" ] || $in tc qdisc add dev lo root $shaping; }
	} >network.out 2>&1 || failed network.out
fi
fsid=$(sed -n 's/^fsid = //p' ceph.conf)
monmaptool --create --fsid "$fsid" --addv a "[v2:$host:$v2,v1:$host:$v1]" monmap >monmap.out 2>&1 || failed monmap.out
ceph-mon --mkfs -i a --monmap monmap >mon.out 2>&1 || failed mon.out
$in ceph-mon -f -i a >>mon.out 2>&1 &
mon=$! pids=$!
n=0 makers=
while [ "$n" -lt "$osds" ]; do
	mkdir "osd.$n.data"
	cat /proc/sys/kernel/random/uuid >"osd.$n.uuid"
	ceph-osd -i "$n" --mkfs --osd-uuid "$(cat "osd.$n.uuid")" >"osd.$n.out" 2>&1 &
	makers="$makers $!" pids="$pids $!"
	n=$((n + 1))
done
# One process of the client runs all commands: it takes longer to start than to run them.
{
	n=0
	while [ "$n" -lt "$osds" ]; do
		echo "osd new $(cat "osd.$n.uuid") $n"
		n=$((n + 1))
	done
	cat commands
} >all-commands
$in ceph --connect-timeout 20 <all-commands >commands.out 2>&1 &
asking=$! pids="$pids $!"
while kill -0 "$asking" 2>/dev/null; do
	kill -0 "$mon" 2>/dev/null || failed mon.out
	sleep 0.05
done
wait "$asking" || failed commands.out
grep -q '^Error\|^Invalid' commands.out && failed commands.out
n=0
for maker in $makers; do
	wait "$maker" || failed "osd.$n.out"
	n=$((n + 1))
done
pids=$mon
start() { # OSD
	$in ceph-osd -f -i "$1" >>"osd.$1.out" 2>&1 &
	echo $! >"osd.$1.pid.new"
	mv "osd.$1.pid.new" "osd.$1.pid"
}
n=0
while [ "$n" -lt "$osds" ]; do
	start "$n"
	n=$((n + 1))
done
# With a file osd.N.down the OSD may end; with osd.N.again it starts again, once its former process has let go of the device.
while kill -0 "$mon" 2>/dev/null; do
	n=0
	while [ "$n" -lt "$osds" ]; do
		read -r pid <"osd.$n.pid"
		if ! kill -0 "$pid" 2>/dev/null; then
			if [ -e "osd.$n.again" ]; then
				rm -f "osd.$n.again" "osd.$n.down"
				start "$n"
			elif [ ! -e "osd.$n.down" ]; then
				lost "osd.$n" "$pid" "osd.$n.out"
			fi
		fi
		n=$((n + 1))
	done
	sleep 0.2 &
	wait $!
done
lost "the monitor" "$mon" mon.out
