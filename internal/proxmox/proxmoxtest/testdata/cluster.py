"""A cluster of fakepve in this process, which a test drives: a line of JSON is a call, and each has
a line as its answer. fakepve has no migration through the API, no notes of nodes, no load and
no HA manager: these are added here, as the API's documentation has them."""

import asyncio
import json
import sys

from fakepve import FakePve
from fakepve.model import PveError, TaskError


class Cluster(FakePve):
    def __init__(self):
        super().__init__(user='root@pam', password='secret', host='127.0.0.1', port=0)
        self.notes = {}
        self.rules = []
        self.authority = '%032x' % id(self)
        self.node_states = {}
        self.mhz = 1000.0
        self.migration_secs = 0
        self.half_way = None
        self.held = False
        self.migrating = {}

    def _routes_plimsoll(self):
        vm = '/nodes/{node}/qemu/{vmid}'
        return [('POST', vm + '/migrate', self._migrate), ('GET', vm + '/migrate', self._obstacles),
                ('GET', vm + '/rrddata', self._history), ('GET', '/nodes/{node}/config', self._notes),
                ('PUT', '/nodes/{node}/config', self._set_notes), ('GET', '/nodes/{node}/status', self._hardware),
                ('GET', '/nodes/{node}/network', self._network), ('GET', '/cluster/tasks', self._recent),
                ('GET', '/nodes/{node}/certificates/info', self._certificates),
                ('GET', '/cluster/ha/rules', self._rules), ('GET', '/cluster/ha/status/manager_status', self._manager),
                ('DELETE', '/nodes/{node}/tasks/{upid}', self._stop_task)]

    async def _migrate(self, v, user):
        vm = self.find(v['node'], v['vmid'])
        self.need_quorum()
        self._check_lock(vm)
        target = v['target']
        if target not in self.nodes:
            raise PveError(400, 'Parameter verification failed.', {'target': 'no such cluster node'})
        if vm.status == 'running' and not v.get('online'):
            raise PveError(500, "can't migrate running VM without --online")

        async def move():
            vm.lock = 'migrate'
            self.migrating[vm.vmid] = asyncio.current_task()
            try:
                await self.pause(self.migration_secs)
                if self.half_way:
                    raise TaskError(self.half_way)
                vm.node = target
            except asyncio.CancelledError:
                raise TaskError('received interrupt')
            finally:
                vm.lock = None
                self.migrating.pop(vm.vmid, None)
            return 'migration finished successfully'

        async def ask():
            async def later():
                vm.ha_state = 'migrate'
                await self.pause(self.ha_delay)
                vm.node, vm.ha_state = target, 'started'
            if not self.held:
                asyncio.ensure_future(later())
            return 'requesting HA migration for VM {0} to node {1}'.format(vm.vmid, target)
        if vm.ha_managed:
            return await self.task(vm.node, 'hamigrate', vm.vmid, user, ask)
        return await self.task(vm.node, 'qmigrate', vm.vmid, user, move, vm=vm,
                               log=["starting migration of VM {0} to node '{1}'".format(vm.vmid, target)])

    async def _stop_task(self, v, user):
        task = self.tasks[v['upid']]
        running = self.migrating.get(int(task['id']))
        if running:
            running.cancel()

    async def _obstacles(self, v, user):
        vm = self.find(v['node'], v['vmid'])
        local = [{'volid': str(vm.config[key]).split(',')[0]} for key in vm.devices() if str(vm.config[key]).startswith('local')]
        return {'local_disks': local, 'local_resources': [k for k in vm.config if k.startswith('hostpci')], 'running': 1}

    async def _history(self, v, user):
        vm = self.find(v['node'], v['vmid'])
        return [{'time': n, 'maxcpu': 1} for n in range(2)] + [
            {'time': 60 * n, 'cpu': vm.stats['cpu'], 'maxcpu': int(vm.config.get('cores', 1)), 'mem': 1} for n in range(5)
            if 'cpu' in vm.stats]

    async def _notes(self, v, user):
        text = self.notes.get(v['node'], '')
        return dict({'digest': '%040x' % abs(hash(text))}, **({'description': text} if text else {}))

    async def _set_notes(self, v, user):
        self.need_quorum()
        if v.get('digest') not in (None, '%040x' % abs(hash(self.notes.get(v['node'], '')))):
            raise PveError(500, 'detected modified configuration - file changed by other user? Try again.')
        self.notes[v['node']] = '' if v.get('delete') else v.get('description', '')

    async def _certificates(self, v, user):
        own = [{'filename': 'pve-ssl.pem', 'fingerprint': v['node']}]
        return [{'filename': 'pve-root-ca.pem', 'fingerprint': self.authority}] + own if self.authority else own

    async def _hardware(self, v, user):
        return {'cpuinfo': {'cpus': 2, 'cores': 2, 'sockets': 1, 'mhz': '%.3f' % self.mhz}, 'memory': {'total': 8 << 30}}

    async def _network(self, v, user):
        return [{'iface': 'vmbr0', 'type': 'bridge'}]

    async def _recent(self, v, user):
        return [self._task_view(t, True) for t in reversed(self.tasklog)]

    async def _rules(self, v, user):
        return self.rules

    async def _manager(self, v, user):
        return {'manager_status': {'node_status': self.node_states}}

    # ------------------------------------------------------------ calls of a test

    def vm_(self, vmid, **values):
        """Set attributes of a VM."""
        for key, value in values.items():
            setattr(self.vm(vmid), key, value)

    def set(self, **values):
        """Set attributes of the cluster."""
        for key, value in values.items():
            setattr(self, key, value)

    def remove(self, vmid):
        """Delete a VM."""
        self.vms.remove(self.vm(vmid))

    def token(self, name, secret):
        """Add an API token."""
        self.apitokens[name] = secret

    def where(self, vmid):
        """The node of a VM."""
        return self.vm(vmid).node


async def main(certfile, keyfile):
    pve = Cluster()
    await pve.start(certfile, keyfile)
    print(json.dumps(pve.port), flush=True)
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while line := await lines.readline():
        call = json.loads(line)
        result = getattr(pve, call['call'])(*call.get('args', []), **call.get('values', {}))
        if asyncio.iscoroutine(result):
            result = await result
        print(json.dumps(result if isinstance(result, (str, int, list)) else None), flush=True)
    await pve.stop()


asyncio.run(main(sys.argv[1], sys.argv[2]))
