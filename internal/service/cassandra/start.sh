# Starts the nodes of a ring, one after the other, and stays until one of them ends or
# it is asked to stop. What they hold is thrown away then, so that they need not be
# asked.   start.sh JAVA FOLDER NODES FLAG...
java=$1 dir=$2 nodes=$3
shift 3
cd "$dir" || exit 1 # for the agent among the flags
pids=
end() {
	trap - INT TERM
	kill -KILL $pids 2>/dev/null
	wait $pids 2>/dev/null
	exit "$1"
}
trap 'end 0' INT TERM
# died says what there is to say of a node that ended. On a full disk it said nothing.
died() {
	cat "$dir"/*/out >&2
	cat "$dir"/*.yaml 2>/dev/null >"$dir/room" || echo "no space left on the disk of $dir" >&2
	end 1
}
n=0
while [ "$n" -lt "$nodes" ]; do
	here=$dir/$n
	mkdir -p "$here/tmp"
	"$java" "$@" -Xlog:gc,gc+init=info:file="$here/gc.log" -Djava.io.tmpdir="$here/tmp" -Djna.tmpdir="$here/tmp" \
		-Dlogback.configurationFile="file://$dir/logback.xml" -Dcassandra.logdir="$here" -Dcassandra.storagedir="$here" \
		-Dcassandra.config="file://$dir/$n.yaml" $(cat "$dir/$n.flags") \
		-cp "$dir:$dir/lib/*" org.apache.cassandra.service.CassandraDaemon >"$here/out" 2>&1 &
	pids="$pids $!"
	n=$((n + 1))
	[ "$n" -lt "$nodes" ] || break
	until grep -q 'Startup complete' "$here/system.log" 2>/dev/null; do
		kill -0 $! 2>/dev/null || break
		sleep 0.2 &
		wait $!
	done
done
if [ "$nodes" = 1 ]; then
	wait $pids
	died
fi
while :; do
	for pid in $pids; do
		kill -0 "$pid" 2>/dev/null && continue
		died
	done
	sleep 1 &
	wait $!
done
